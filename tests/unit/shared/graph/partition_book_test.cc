#include "shared/graph/book/partition_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shared/graph/host_rows.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

TEST(HostRowsTest, OwnersShareAllFinePartsInOrder) {
  for (uint32_t owners = 1; owners <= kMostOwners; ++owners) {
    EXPECT_EQ(FirstPartOf(0, owners), 0U);
    EXPECT_EQ(FirstPartOf(owners, owners), kFineParts);
    for (uint32_t owner = 0; owner < owners; ++owner) {
      EXPECT_LT(FirstPartOf(owner, owners), FirstPartOf(owner + 1, owners));
      for (uint32_t part = FirstPartOf(owner, owners);
           part < FirstPartOf(owner + 1, owners); ++part) {
        EXPECT_EQ(OwnerOfPart(part, owners), owner) << part << " of " << owners;
      }
    }
  }
}

// Of a dataset of four vertices.
class PartitionBookTest : public DatasetTest {
 protected:
  PartitionBookTest() { Write(); }
  Dataset OpenDataset() {
    auto dataset = Dataset::Open(folder(), Validation::kShapes);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }
  std::vector<fs::path> BookFiles() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder() / "derived")) {
      if (entry.path().filename().string().starts_with("book-")) {
        files.push_back(entry.path());
      }
    }
    return files;
  }
  static constexpr uint8_t kParts[] = {63, 0, 17, 17};
};

TEST_F(PartitionBookTest, ReadsBackThePartOfEachVertex) {
  const Dataset dataset = OpenDataset();
  EXPECT_THAT(PartitionBook::Open(dataset), NotFound());
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, kParts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  ASSERT_EQ(book.num_nodes(), 4U);
  for (GlobalId v = 0; v < 4; ++v) EXPECT_EQ(book.PartOf(v), kParts[v]);
  EXPECT_NE(book.key(), 0U);
}

TEST_F(PartitionBookTest, HasAKeyOfItsPartsAlone) {
  FGNN_ASSERT_OK(PartitionBook::Save(OpenDataset(), kParts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(OpenDataset()));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string bytes,
                            PartitionBook::ToBytes(kParts));
  std::ofstream(folder() / "book.bin", std::ios::binary) << bytes;
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook copy,
                            PartitionBook::OpenFile(folder() / "book.bin", 4));
  EXPECT_EQ(copy.key(), book.key());
  const std::vector<uint8_t> others = {62, 0, 17, 17};
  FGNN_ASSERT_OK(PartitionBook::Save(OpenDataset(), others));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook other,
                            PartitionBook::Open(OpenDataset()));
  EXPECT_NE(other.key(), book.key());
}

TEST_F(PartitionBookTest, ForgetsTheBookOfAnotherStateOfTheDataset) {
  FGNN_ASSERT_OK(PartitionBook::Save(OpenDataset(), kParts));
  content_.train = {1, 2, 3};
  Write();
  const Dataset changed = OpenDataset();
  EXPECT_THAT(PartitionBook::Open(changed), NotFound());
  FGNN_ASSERT_OK(PartitionBook::Save(changed, kParts));
  EXPECT_EQ(BookFiles().size(), 1U);
}

TEST_F(PartitionBookTest, RefusesPartsThatAreNoBook) {
  const Dataset dataset = OpenDataset();
  const std::vector<uint8_t> three = {0, 1, 2};
  EXPECT_THAT(PartitionBook::Save(dataset, three), InvalidArgument());
  const std::vector<uint8_t> beyond = {0, 1, 64, 2};
  EXPECT_THAT(PartitionBook::Save(dataset, beyond),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("vertex 2 is in fine part 64")));
}

TEST_F(PartitionBookTest, FindsEachDamagedByte) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string bytes,
                            PartitionBook::ToBytes(kParts));
  const fs::path file = folder() / "book.bin";
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    std::ofstream(file, std::ios::binary) << damaged;
    const auto book = PartitionBook::OpenFile(file, 4);
    // Bytes behind the header's fields are padding.
    if (i >= 32 && i < 64) continue;
    EXPECT_THAT(book, StatusIs(absl::StatusCode::kDataLoss,
                               testing::HasSubstr(file.string())))
        << "byte " << i;
  }
  std::ofstream(file, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_THAT(PartitionBook::OpenFile(file, 4),
              StatusIs(absl::StatusCode::kDataLoss, testing::_));
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_THAT(PartitionBook::OpenFile(file, 4), IsOk());
  EXPECT_THAT(PartitionBook::OpenFile(file, 5),
              StatusIs(absl::StatusCode::kDataLoss,
                       testing::HasSubstr("no book of 5 vertices")));
}

}  // namespace
}  // namespace fgnn
