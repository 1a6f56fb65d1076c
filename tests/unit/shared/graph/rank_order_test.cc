#include "shared/graph/rank_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "shared/base/crc32c.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

// Of a dataset of four vertices.
class RankOrderTest : public DatasetTest {
 protected:
  RankOrderTest() { Write(); }
  Dataset OpenDataset() {
    auto dataset = Dataset::Open(folder(), Validation::kShapes);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }
  size_t NumFiles() {
    size_t files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder() / "derived")) {
      files += entry.path().filename().string().starts_with("ranks-") ? 1 : 0;
    }
    return files;
  }
  static constexpr GlobalId kOrder[] = {2, 0, 3, 1};
};

TEST_F(RankOrderTest, ReadsBackAnOrderAndItsInverse) {
  const Dataset dataset = OpenDataset();
  EXPECT_THAT(RankOrder::Open(dataset, 7), NotFound());
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 7, kOrder));
  FGNN_ASSERT_OK_AND_ASSIGN(const RankOrder order, RankOrder::Open(dataset, 7));
  EXPECT_THAT(order.vertices(), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(order.ranks(), ElementsAre(1, 3, 0, 2));
  EXPECT_NE(order.version(), 0U);
  const std::vector<GlobalId> other = {0, 1, 2, 3};
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 8, other));
  FGNN_ASSERT_OK_AND_ASSIGN(const RankOrder second,
                            RankOrder::Open(dataset, 8));
  EXPECT_NE(second.version(), order.version());
  EXPECT_EQ(NumFiles(), 2U);
}

TEST_F(RankOrderTest, ForgetsOrdersOfAnotherStateOfTheDataset) {
  FGNN_ASSERT_OK(RankOrder::Save(OpenDataset(), 7, kOrder));
  content_.train = {1, 2, 3};
  Write();
  const Dataset changed = OpenDataset();
  EXPECT_THAT(RankOrder::Open(changed, 7), NotFound());
  FGNN_ASSERT_OK(RankOrder::Save(changed, 7, kOrder));
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(RankOrderTest, RefusesWhatIsNoOrder) {
  const Dataset dataset = OpenDataset();
  for (const std::vector<GlobalId>& vertices :
       {std::vector<GlobalId>{0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 4}}) {
    EXPECT_THAT(RankOrder::Save(dataset, 7, vertices), InvalidArgument());
  }
  EXPECT_THAT(RankOrder::Open(dataset, 7), NotFound());
}

// Right checksums do not make an order: vertices that are missing, twice or out
// of range, and ranks of another order, would train on other vertices'
// features.
TEST_F(RankOrderTest, RefusesAFileOfRightChecksumsThatIsNoOrder) {
  const Dataset dataset = OpenDataset();
  const std::filesystem::path path = RankOrder::PathOf(dataset, 7);
  const auto open_forged = [&](const std::vector<uint32_t>& vertices,
                               const std::vector<uint32_t>& ranks) {
    EXPECT_THAT(RankOrder::Save(dataset, 7, kOrder), IsOk());
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const size_t bytes = 4 * sizeof(uint32_t);
    const uint32_t checksums[] = {ExtendCrc32c(0, vertices.data(), bytes),
                                  ExtendCrc32c(0, ranks.data(), bytes)};
    file.seekp(24);
    file.write(reinterpret_cast<const char*>(checksums), sizeof(checksums));
    file.seekp(64);
    file.write(reinterpret_cast<const char*>(vertices.data()), bytes);
    file.write(reinterpret_cast<const char*>(ranks.data()), bytes);
    file.close();
    return RankOrder::Open(dataset, 7);
  };
  EXPECT_THAT(open_forged({2, 0, 3, 1}, {1, 3, 0, 2}), IsOk());
  for (const auto& [vertices, ranks] :
       std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>{
           {{2, 0, 3, 2}, {1, 3, 0, 2}},
           {{2, 0, 3, 4}, {1, 3, 0, 2}},
           {{2, 0, 3, UINT32_MAX}, {1, 3, 0, 2}},
           {{2, 0, 3, 1}, {1, 3, 0, 0}},
           {{2, 0, 3, 1}, {0, 1, 2, 3}},
           {{2, 0, 3, 1}, {1, UINT32_MAX, 0, 2}}}) {
    EXPECT_THAT(open_forged(vertices, ranks), DataLoss(path.string()))
        << testing::PrintToString(vertices) << testing::PrintToString(ranks);
  }
}

TEST_F(RankOrderTest, DistrustsTheFile) {
  const Dataset dataset = OpenDataset();
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 7, kOrder));
  const std::filesystem::path path = RankOrder::PathOf(dataset, 7);
  const auto size = std::filesystem::file_size(path);
  for (uintmax_t at = 0; at < size; ++at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get());
    const auto put = [&](char value) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(value);
      file.flush();
    };
    put(static_cast<char>(byte ^ 1));
    const bool is_padding = at >= 32 && at < 64;
    EXPECT_EQ(RankOrder::Open(dataset, 7).ok(), is_padding) << "byte " << at;
    put(byte);
  }
  EXPECT_THAT(RankOrder::Open(dataset, 7), IsOk());
  std::filesystem::resize_file(path, size - 1);
  EXPECT_THAT(RankOrder::Open(dataset, 7), DataLoss(path.string()));
}

}  // namespace
}  // namespace fgnn
