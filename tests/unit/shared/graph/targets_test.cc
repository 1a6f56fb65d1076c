// Targets of vertices: what a dataset gives of them, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/dataset.h"
#include "shared/graph/dataset_names.h"
#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

namespace fs = std::filesystem;

// Four vertices with two targets each in the place of labels; vertex 2 lacks
// one.
class TargetsTest : public DatasetTest {
 protected:
  TargetsTest() {
    content_.metadata.num_classes = 0;
    content_.metadata.target_columns = 2;
  }

  void WriteNumbers() {
    content_.metadata.target_type = TargetType::kFloat32;
    WriteWithoutLabels();
    WriteArray(folder() / "targets.npy", NpyType::kF32, numbers_, {2});
  }
  void WriteBits() {
    content_.metadata.target_type = TargetType::kBits;
    WriteWithoutLabels();
    WriteArray(folder() / "targets.npy", NpyType::kU8, bits_, {2});
  }
  void WriteNames(const std::string& text) {
    std::ofstream(folder() / "target_names.txt", std::ios::binary) << text;
  }

  std::vector<float> numbers_ = {0.5, -1, 2, 3e30F, kNan, 5, 6, -7};
  std::vector<uint8_t> bits_ = {0, 1, 1, 1, 1, 255, 0, 0};

 private:
  void WriteWithoutLabels() {
    Write();
    fs::remove(folder() / "labels.npy");
  }
};

std::vector<float> Row(const TargetView& targets, GlobalId v) {
  std::vector<float> row(targets.columns);
  targets.Read(v, row.data());
  return row;
}

TEST_F(TargetsTest, NumbersAreRead) {
  WriteNumbers();
  WriteNames("height\nweight\n");
  for (const Validation validation :
       {Validation::kShapes, Validation::kStructure, Validation::kEverything}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                              Dataset::Open(folder(), validation));
    EXPECT_EQ(dataset.num_targets(), 2U);
    EXPECT_EQ(dataset.num_classes(), 0U);
    EXPECT_THAT(dataset.labels(), IsEmpty());
    const TargetView& targets = dataset.targets();
    EXPECT_EQ(targets.type, TargetType::kFloat32);
    EXPECT_EQ(targets.rows, 4U);
    EXPECT_THAT(Row(targets, 1), ElementsAre(2, 3e30F));
    EXPECT_THAT(Row(targets, 2), ElementsAre(IsNan(), 5));
    EXPECT_TRUE(targets.Has(1));
    EXPECT_FALSE(targets.Has(2));
    EXPECT_EQ(dataset.TargetName(1), "weight");
    EXPECT_EQ(dataset.TargetName(2), "");
  }
}

TEST_F(TargetsTest, SetsAreRead) {
  WriteBits();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  const TargetView& targets = dataset.targets();
  EXPECT_EQ(targets.type, TargetType::kBits);
  EXPECT_THAT(Row(targets, 0), ElementsAre(0, 1));
  EXPECT_THAT(Row(targets, 2), ElementsAre(1, IsNan()));
  EXPECT_FALSE(targets.Has(2));
  EXPECT_TRUE(targets.Has(3));
  EXPECT_EQ(dataset.TargetName(0), "");
}

TEST_F(TargetsTest, SizesAreThoseOfTheHeader) {
  WriteBits();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetSizes read,
                            Dataset::ReadSizes(folder()));
  for (const DatasetSizes& sizes : {read, dataset.sizes()}) {
    EXPECT_EQ(sizes.target_columns, 2U);
    EXPECT_EQ(sizes.target_type, TargetType::kBits);
    EXPECT_FALSE(sizes.has_labels);
  }
}

TEST_F(TargetsTest, ADatasetOfLabelsHasNone) {
  content_.metadata.num_classes = 3;
  content_.metadata.target_columns = 0;
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  EXPECT_EQ(dataset.targets().rows, 0U);
  EXPECT_EQ(dataset.num_targets(), 0U);
  EXPECT_EQ(dataset.sizes().target_columns, 0U);
}

TEST_F(TargetsTest, EachVertexOfASplitHasThemAll) {
  content_.valid = {1, 2};
  WriteNumbers();
  ExpectRefused("valid.npy", "element 1 is vertex 2", "no target in column 0");
  EXPECT_THAT(OpenStatus(Validation::kStructure), InvalidArgument());
  WriteBits();
  ExpectRefused("valid.npy", "element 1 is vertex 2", "no target in column 1");
}

TEST_F(TargetsTest, ValuesThatMeanNothingAreRefused) {
  for (const float value : {kInfinity, -kInfinity}) {
    numbers_[5] = value;
    WriteNumbers();
    ExpectRefused("targets.npy", "row 2, column 1", "is infinite");
    EXPECT_THAT(OpenStatus(Validation::kStructure), IsOk());
  }
  for (const int value : {2, 127, 254}) {
    bits_[6] = static_cast<uint8_t>(value);
    WriteBits();
    ExpectRefused("targets.npy", "row 3, column 0",
                  absl::StrCat("is ", value, ", but a class is 1"));
    EXPECT_THAT(OpenStatus(Validation::kStructure), IsOk());
  }
}

TEST_F(TargetsTest, ShapeAndTypeAreThoseOfTheMetadata) {
  WriteNumbers();
  WriteArray(folder() / "targets.npy", NpyType::kF32, numbers_, {4});
  ExpectRefused("targets.npy", "shape is (2, 4)", "(4, 2) is wanted");
  WriteBits();
  WriteArray(folder() / "targets.npy", NpyType::kF32, numbers_, {2});
  ExpectRefused("targets.npy", "'<f4'", "'|u1'");
}

TEST_F(TargetsTest, AreThereIfTheMetadataSaysSo) {
  WriteNumbers();
  fs::remove(folder() / "targets.npy");
  EXPECT_THAT(OpenStatus(Validation::kShapes),
              NotFound("targets.npy", "missing"));
  content_.metadata.target_columns = 0;
  WriteNumbers();
  ExpectRefused("targets.npy", "target_columns 0", "remove the file");
}

TEST_F(TargetsTest, AreRefusedWithLabels) {
  content_.metadata.num_classes = 3;
  WriteNumbers();
  Write();
  ExpectRefused("targets.npy", "labels.npy", "one of the two");
}

TEST_F(TargetsTest, NamesAreValidated) {
  WriteNumbers();
  WriteNames("a\nb\nc\n");
  ExpectRefused("target_names.txt", "line 3", "one too many, of 2 targets");
  WriteNames("a\na\n");
  ExpectRefused("target_names.txt", "line 2", "is 'a' as line 1");
  WriteNames("\nb");
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetNames names,
                            ReadDatasetNames(folder(), 0, 2, 2));
  EXPECT_THAT(names.targets, ElementsAre("", "b"));
}

TEST_F(TargetsTest, AreInBothFingerprints) {
  WriteNumbers();
  FGNN_ASSERT_OK_AND_ASSIGN(const ValidatedFolder before,
                            ValidateOnce(folder(), state_dir()));
  numbers_[7] = -8;
  WriteNumbers();
  fs::last_write_time(
      folder() / "targets.npy",
      fs::last_write_time(folder() / "targets.npy") + std::chrono::seconds(1));
  FGNN_ASSERT_OK_AND_ASSIGN(const ValidatedFolder after,
                            ValidateOnce(folder(), state_dir()));
  EXPECT_NE(after.state, before.state);
  EXPECT_NE(after.content, before.content);
}

TEST_F(TargetsTest, ACutFileIsRefused) {
  WriteBits();
  fs::resize_file(folder() / "targets.npy",
                  fs::file_size(folder() / "targets.npy") - 1);
  EXPECT_THAT(OpenStatus(Validation::kShapes), DataLoss("targets.npy"));
}

}  // namespace
}  // namespace fgnn
