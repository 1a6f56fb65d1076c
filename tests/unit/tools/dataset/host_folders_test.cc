#include "tools/dataset/building/host_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shared/graph/book/own_rows.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class HostFoldersTest : public testing::Test {
 protected:
  Dataset Make(uint32_t feature_columns) {
    RmatOptions options;
    options.common.out = folder_ / "whole";
    options.common.feature_columns = feature_columns;
    options.common.num_classes = 5;
    options.scale = 8;
    options.edge_factor = 4;
    options.weights = true;
    EXPECT_THAT(GenerateRmat(options), IsOk());
    return Open("whole");
  }
  Dataset Open(const fs::path& name) {
    auto dataset = Dataset::Open(folder_ / name, Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }
  // Returns a book that puts no vertex into parts from `num_parts` on.
  static PartitionBook BookOf(const Dataset& dataset, uint32_t num_parts) {
    std::vector<uint8_t> parts(dataset.num_nodes());
    for (size_t v = 0; v < parts.size(); ++v) {
      parts[v] = static_cast<uint8_t>(v * v % 61 % num_parts);
    }
    EXPECT_THAT(PartitionBook::Save(dataset, parts), IsOk());
    auto book = PartitionBook::Open(dataset);
    EXPECT_THAT(book, IsOk());
    return *std::move(book);
  }
  CutOptions Into(const fs::path& out, uint32_t owners) const {
    CutOptions options;
    options.owners = owners;
    options.out = folder_ / out;
    return options;
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path();
};

TEST_F(HostFoldersTest, EachRowIsInTheFolderOfItsOwnerAndTheRestInAll) {
  const Dataset whole = Make(3);
  std::ofstream(folder_ / "whole" / "other_weights.npy") << "of the user";
  const PartitionBook book = BookOf(whole, kFineParts);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<HostFolderSummary> hosts,
                            CutHostFolders(whole, book, Into("cut", 3)));
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t content, whole.ContentFingerprint());
  ASSERT_EQ(hosts.size(), 3U);
  uint64_t rows = 0;
  uint64_t train = 0;
  for (uint32_t owner = 0; owner < 3; ++owner) {
    SCOPED_TRACE(owner);
    EXPECT_EQ(hosts[owner].folder,
              folder_ / "cut" / ("host" + std::to_string(owner)));
    const Dataset own = Open(hosts[owner].folder);
    EXPECT_EQ(own.host_rows(),
              (HostRows{.book = book.key(), .owners = 3, .owner = owner}));
    EXPECT_EQ(own.ContentFingerprint().value_or(0), content);
    EXPECT_EQ(own.name(), whole.name());
    EXPECT_EQ(own.labels(), whole.labels());
    EXPECT_EQ(own.edge_weights(), whole.edge_weights());
    EXPECT_TRUE(fs::exists(own.folder() / "other_weights.npy"));
    EXPECT_FALSE(fs::exists(own.folder() / "derived"));
    FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook copy,
                              PartitionBook::Open(own));
    FGNN_ASSERT_OK_AND_ASSIGN(const OwnRows own_rows, OwnRows::Open(own, copy));
    for (GlobalId v = 0; v < whole.num_nodes(); ++v) {
      if (!own_rows.Has(v)) continue;
      ASSERT_EQ(
          std::memcmp(own.features().row(own_rows.RowOf(v)),
                      whole.features().row(v), whole.features().row_bytes()),
          0)
          << v;
    }
    EXPECT_EQ(own.features().rows, hosts[owner].num_rows);
    rows += hosts[owner].num_rows;
    train += hosts[owner].num_train;
  }
  EXPECT_EQ(rows, whole.num_nodes());
  EXPECT_EQ(train, whole.train().size());
}

TEST_F(HostFoldersTest, AnOwnerMayHaveNothing) {
  const Dataset whole = Make(3);
  const PartitionBook book = BookOf(whole, kFineParts / 2);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<HostFolderSummary> hosts,
                            CutHostFolders(whole, book, Into("cut", 2)));
  EXPECT_EQ(hosts[0].num_rows, whole.num_nodes());
  EXPECT_EQ(hosts[1].num_rows, 0U);
  EXPECT_EQ(hosts[1].num_train, 0U);
  FGNN_ASSERT_OK(CheckHostFolder(Open("cut/host1")));
}

TEST_F(HostFoldersTest, RefusesWhatHasNoRowsToShareOut) {
  const Dataset bare = Make(0);
  const PartitionBook book = BookOf(bare, kFineParts);
  EXPECT_THAT(CutHostFolders(bare, book, Into("cut", 2)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr((folder_ / "whole").string()),
                             HasSubstr("; copy the whole folder"))));
}

TEST_F(HostFoldersTest, RefusesAHostFolderAndLeavesNothing) {
  const Dataset whole = Make(3);
  const PartitionBook book = BookOf(whole, kFineParts);
  FGNN_ASSERT_OK(CutHostFolders(whole, book, Into("cut", 2)));
  EXPECT_THAT(
      CutHostFolders(Open("cut/host0"), book, Into("again", 2)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("owner 0 of 2")));
  EXPECT_THAT(CutHostFolders(whole, book, Into("cut", 2)),
              StatusIs(absl::StatusCode::kAlreadyExists, testing::_));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, testing::UnorderedElementsAre("whole", "cut"));
}

}  // namespace
}  // namespace fgnn
