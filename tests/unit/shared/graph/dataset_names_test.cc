#include "shared/graph/dataset_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DatasetNamesTest : public DatasetTest {
 protected:
  DatasetNamesTest() { Write(); }
  void WriteText(const std::string& file, const std::string& text) {
    std::ofstream(folder() / file, std::ios::binary) << text;
  }
};

TEST_F(DatasetNamesTest, AreLinesOfTwoFiles) {
  WriteText("class_names.txt", "red\n\nblue, dark\n");
  WriteText("feature_names.txt", "x\nx");
  FGNN_ASSERT_OK(OpenStatus());
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetNames names,
                            ReadDatasetNames(folder(), 3, 2, 0));
  EXPECT_THAT(names.classes, ElementsAre("red", "", "blue, dark"));
  EXPECT_THAT(names.features, ElementsAre("x", "x"));
}

TEST_F(DatasetNamesTest, MayBeFewerOrMissing) {
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetNames none,
                            ReadDatasetNames(folder(), 3, 2, 0));
  EXPECT_EQ(none, DatasetNames());
  WriteText("class_names.txt", "red\n");
  FGNN_ASSERT_OK(OpenStatus());
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetNames one,
                            ReadDatasetNames(folder(), 3, 2, 0));
  EXPECT_THAT(one.classes, ElementsAre("red"));
  EXPECT_THAT(one.features, IsEmpty());
}

TEST_F(DatasetNamesTest, AreValidated) {
  WriteText("class_names.txt", "a\nb\nc\nd\n");
  ExpectRefused("class_names.txt", "line 4", "one too many, of 3 classes");
  WriteText("class_names.txt", "a\nb\na\n");
  ExpectRefused("class_names.txt", "line 3", "is 'a' as line 1");
  WriteText("class_names.txt", "");
  WriteText("feature_names.txt", "x\ny\nz\n");
  ExpectRefused("feature_names.txt", "line 3", "of 2 columns");
}

// A program that opens the folder must see that the names have changed.
TEST_F(DatasetNamesTest, AreInTheFingerprint) {
  const uint64_t before = FingerprintOf(folder());
  WriteText("class_names.txt", "a\n");
  EXPECT_NE(FingerprintOf(folder()), before);
}

}  // namespace
}  // namespace fgnn
