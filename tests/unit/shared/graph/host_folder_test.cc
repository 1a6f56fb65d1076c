// Folders with the features of one owner's vertices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/book/own_rows.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kWayOut[] = "'fgnn dataset partition DIR --hosts 2 --out DIR2'";

// Owner 1 of 2 has vertices 0 and 3 of four.
class HostFolderTest : public DatasetTest {
 protected:
  HostFolderTest() {
    Write();
    whole_content_ = Content();
    WriteHostFolder();
  }

  uint64_t Content() {
    const auto content = OpenIt()->ContentFingerprint();
    EXPECT_THAT(content, IsOk());
    return content.value_or(0);
  }
  absl::StatusOr<Dataset> OpenIt() {
    return Dataset::Open(folder(), Validation::kEverything);
  }
  void WriteHostFolder() {
    const auto book = PartitionBook::ToBytes(kParts);
    ASSERT_THAT(book, IsOk());
    std::ofstream(folder() / kBookFile, std::ios::binary) << *book;
    FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook opened,
                              PartitionBook::OpenFile(folder() / kBookFile, 4));
    content_.features = {0, 1, 6, 7};
    content_.metadata.host_rows = {
        .host = {.book = opened.key(), .owners = 2, .owner = 1},
        .num_rows = 2,
        .content = whole_content_,
        .own_content = 0};
    Write();
    FGNN_ASSERT_OK_AND_ASSIGN(const Dataset own, OpenIt());
    FGNN_ASSERT_OK_AND_ASSIGN(content_.metadata.host_rows->own_content,
                              own.OwnFingerprint());
    Write();
  }
  // Returns the errors of a folder that validation accepts.
  absl::Status CheckIt() {
    const auto dataset = OpenIt();
    EXPECT_THAT(dataset, IsOk());
    return dataset.ok() ? CheckHostFolder(*dataset) : dataset.status();
  }

  static constexpr uint8_t kParts[] = {63, 0, 17, 32};
  uint64_t whole_content_ = 0;
};

TEST_F(HostFolderTest, HasTheRowsOfItsOwnerAndTheRestWhole) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset, OpenIt());
  FGNN_ASSERT_OK(CheckHostFolder(dataset));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  FGNN_ASSERT_OK_AND_ASSIGN(const OwnRows rows, OwnRows::Open(dataset, book));
  EXPECT_EQ(dataset.host_rows(),
            (HostRows{.book = book.key(), .owners = 2, .owner = 1}));
  EXPECT_EQ(dataset.num_nodes(), 4U);
  EXPECT_EQ(dataset.labels().size(), 4U);
  EXPECT_EQ(dataset.features().rows, 2U);
  EXPECT_EQ(dataset.feature_file().rows, 2U);
  EXPECT_EQ(rows.num_rows(), 2U);
  EXPECT_EQ(rows.RowOf(3), 1U);
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetSizes sizes,
                            Dataset::ReadSizes(folder()));
  EXPECT_EQ(sizes.host_rows, dataset.host_rows());
  EXPECT_EQ(sizes.num_feature_rows, 2U);
}

TEST_F(HostFolderTest, HasTheContentsOfTheDatasetItWasCutFrom) {
  EXPECT_EQ(Content(), whole_content_);
  FGNN_ASSERT_OK_AND_ASSIGN(const ValidatedFolder validated,
                            ValidateOnce(folder(), state_dir()));
  EXPECT_EQ(validated.content, whole_content_);
}

TEST_F(HostFolderTest, ContentsThatWereNotCutAreRefused) {
  content_.features[3] = 8;
  Write();
  EXPECT_THAT(ValidateOnce(folder(), state_dir()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr((folder() / "metadata.yaml").string()),
                             HasSubstr("host_rows.own_content is "),
                             HasSubstr(kWayOut))));
  content_.features[3] = 7;
  content_.metadata.host_rows->host.owner = 0;
  Write();
  EXPECT_THAT(ValidateOnce(folder(), state_dir()), InvalidArgument());
}

TEST_F(HostFolderTest, AnotherNumberOfRowsIsRefused) {
  content_.features = {0, 1, 4, 5, 6, 7};
  Write();
  ExpectRefused("features.npy", "(3, 2)", "host_rows.rows");
  content_.metadata.host_rows->num_rows = 3;
  Write();
  EXPECT_THAT(CheckIt(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr((folder() / "features.npy").string()),
                             HasSubstr("has 3 rows, but owner 1 of 2 has 2 "
                                       "vertices in book.bin"),
                             HasSubstr(kWayOut))));
}

TEST_F(HostFolderTest, NeedsTheBookThatItWasCutBy) {
  const uint64_t key = content_.metadata.host_rows->host.book;
  const auto other =
      PartitionBook::ToBytes(std::vector<uint8_t>{63, 0, 18, 32});
  ASSERT_THAT(other, IsOk());
  std::ofstream(folder() / kBookFile, std::ios::binary) << *other;
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook opened,
                            PartitionBook::OpenFile(folder() / kBookFile, 4));
  const auto hex = [](uint64_t number) {
    return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
  };
  EXPECT_THAT(CheckIt(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr((folder() / kBookFile).string()),
                             HasSubstr("key is " + hex(opened.key())),
                             HasSubstr("host_rows.book is " + hex(key)),
                             HasSubstr(kWayOut))));
  std::ofstream(folder() / kBookFile, std::ios::binary) << "damaged";
  EXPECT_THAT(CheckIt(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr((folder() / kBookFile).string()),
                             HasSubstr(kWayOut))));
  fs::remove(folder() / kBookFile);
  EXPECT_THAT(OpenIt(), StatusIs(absl::StatusCode::kNotFound,
                                 AllOf(HasSubstr("book.bin: missing"),
                                       HasSubstr(kWayOut))));
}

TEST_F(HostFolderTest, AnOwnerWithoutAVertexHasFeaturesWithoutRows) {
  const auto book = PartitionBook::ToBytes(std::vector<uint8_t>{1, 0, 17, 2});
  ASSERT_THAT(book, IsOk());
  std::ofstream(folder() / kBookFile, std::ios::binary) << *book;
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook opened,
                            PartitionBook::OpenFile(folder() / kBookFile, 4));
  content_.features = {};
  content_.metadata.host_rows->host.book = opened.key();
  content_.metadata.host_rows->num_rows = 0;
  Write();
  FGNN_ASSERT_OK(CheckIt());
  EXPECT_EQ(OpenIt()->features().columns, 2U);
}

TEST_F(HostFolderTest, IsNoDatasetForWhatReadsAllRowsOrMakesABook) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset, OpenIt());
  EXPECT_THAT(CheckHasAllRows(dataset),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr((folder() / "features.npy").string()),
                             HasSubstr("owner 1 of 2"),
                             HasSubstr("name the whole dataset"))));
  EXPECT_THAT(PartitionBook::Save(dataset, kParts), InvalidArgument());
}

TEST_F(HostFolderTest, FollowsItsBookInItsState) {
  const uint64_t state = FingerprintOf(folder());
  std::ofstream(folder() / kBookFile, std::ios::app) << "more";
  EXPECT_NE(FingerprintOf(folder()), state);
}

TEST_F(DatasetTest, AWholeFolderPassesAsOneWithAllRows) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  EXPECT_EQ(dataset.host_rows(), std::nullopt);
  FGNN_ASSERT_OK(CheckHasAllRows(dataset));
  FGNN_ASSERT_OK(CheckHostFolder(dataset));
  EXPECT_EQ(dataset.sizes().num_feature_rows, 4U);
}

}  // namespace
}  // namespace fgnn
