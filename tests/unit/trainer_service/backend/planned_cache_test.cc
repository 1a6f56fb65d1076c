// A trainer's cache in a table that it shares: what others fill is in it, what
// is not there is read from the store, and the features are the same.
#include "trainer_service/backend/cpu/planned_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "shared/queue/segment.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

constexpr uint64_t kJob = 9;
constexpr uint64_t kKey = 5;
constexpr uint64_t kRows = 40;
constexpr OwnerIndex kOne{1};
constexpr OwnerIndex kOther{2};

class PlannedCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    dataset_.emplace(
        Dataset::Open(folder_ / "data", Validation::kShapes).value());
    std::vector<GlobalId> vertices(kSmallNodes);
    std::iota(vertices.rbegin(), vertices.rend(), 0);
    FGNN_ASSERT_OK(RankOrder::Save(*dataset_, kKey, vertices));
    order_.emplace(RankOrder::Open(*dataset_, kKey).value());
    store_ = MakeMappedFeatureStore(dataset_->features());
    UsePatience(kFillPatience);
    MakeTable(3, kRows);
  }

  void UsePatience(std::chrono::milliseconds patience) {
    cache_.emplace(store_.get(), /*looks_ahead=*/false, patience);
    cache_->ShareTables(
        {.owner = kOne,
         .job_key = kJob,
         .open = [this](uint64_t number) -> absl::StatusOr<UniqueFd> {
           ++asked_;
           if (!refusal_.ok()) return refusal_;
           if (number != number_) return absl::NotFoundError("closed");
           return Duplicate(table_.get());
         }});
  }

  void MakeTable(uint64_t number, uint64_t rows, uint64_t key = kKey) {
    number_ = number;
    table_ = HotTable::Create({.job_key = kJob,
                               .number = number,
                               .rank_order_key = key,
                               .rows = rows,
                               .row_bytes = store_->row_bytes(),
                               .rows_per_chunk = 8})
                 .value();
    other_ = HotTable::Open(Duplicate(table_.get()), kJob, HotTablePart::kAll)
                 .value();
  }
  TrainerCache Plan() const {
    return {.rank_order_key = kKey, .rows = kRows, .table = number_};
  }
  absl::Status Follow(const TrainerCache& plan) {
    return cache_->Follow(plan, *dataset_, team_);
  }

  // Extracts all vertices. Returns how many came from the cache.
  uint64_t ExtractAll() {
    const std::shared_ptr<const LoadedCache> cached = cache_->now();
    std::vector<GlobalId> nodes(kSmallNodes);
    std::iota(nodes.begin(), nodes.end(), 0);
    std::vector<float> rows(kSmallNodes * kSmallColumns);
    std::vector<float> expected(rows.size());
    EXPECT_THAT(store_->CopyRows(nodes, expected.data()), IsOk());
    const absl::StatusOr<uint64_t> hits =
        cached->cache.Extract(nodes, order_->ranks(), rows.data(), team_);
    EXPECT_THAT(hits, IsOk());
    EXPECT_EQ(rows, expected);
    return *hits;
  }

  TempFolder folder_;
  std::optional<Dataset> dataset_;
  std::optional<RankOrder> order_;
  std::unique_ptr<FeatureStore> store_;
  ThreadTeam team_{2};
  uint64_t number_ = 0;
  UniqueFd table_;
  std::unique_ptr<HotTable> other_;  // As another trainer has it.
  absl::Status refusal_;
  int asked_ = 0;
  std::optional<PlannedCache> cache_;
};

TEST_F(PlannedCacheTest, FillsATableThatOthersThenFindFull) {
  EXPECT_FALSE(cache_->SharedTable().valid());
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_TRUE(cache_->IsFollowed(Plan()));
  EXPECT_EQ(cache_->now()->rank_order_version, order_->version());
  EXPECT_EQ(ExtractAll(), kRows);
  EXPECT_TRUE(other_->is_full());
  EXPECT_TRUE(cache_->SharedTable().valid());
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_EQ(asked_, 1);
}

TEST_F(PlannedCacheTest, ARowThatIsNotThereIsAMissAndFollowsLater) {
  UsePatience(std::chrono::milliseconds(0));
  // Another trainer has all chunks.
  std::optional<HotTable::Chunk> dead = other_->TryTake(kOther);
  std::vector<HotTable::Chunk> rest;
  while (auto chunk = other_->TryTake(kOther))
    rest.push_back(*std::move(chunk));
  const auto fill = [&](HotTable::Chunk& chunk) {
    FGNN_ASSERT_OK(store_->CopyStoredRows(
        order_->vertices().subspan(chunk.first_row(), chunk.num_rows()),
        chunk.bytes().data()));
    std::move(chunk).Done();
  };
  fill(rest[0]);
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_TRUE(cache_->IsFollowed(Plan()));
  EXPECT_EQ(ExtractAll(), 0U);
  const std::shared_ptr<const LoadedCache> before = cache_->now();

  fill(*dead);
  EXPECT_EQ(ExtractAll(), 16U);
  // A batch that is being extracted keeps the number with which it began.
  EXPECT_EQ(before->cache.capacity(), 0U);

  other_->ReclaimChunksOf(kOther);
  EXPECT_FALSE(cache_->IsFollowed(Plan()));
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_TRUE(cache_->IsFollowed(Plan()));
  EXPECT_EQ(ExtractAll(), kRows);
  EXPECT_EQ(asked_, 1);
}

TEST_F(PlannedCacheTest, AnotherSizeIsAnotherTable) {
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_EQ(ExtractAll(), kRows);
  TrainerCache larger = Plan();
  MakeTable(4, 2 * kRows);
  larger.table = 4;
  larger.rows = 2 * kRows;
  EXPECT_FALSE(cache_->IsFollowed(larger));
  // A trainer at rest lets the old one go, whatever its size.
  cache_->GiveUpMoreThan(larger);
  EXPECT_FALSE(cache_->SharedTable().valid());
  EXPECT_EQ(ExtractAll(), 0U);
  FGNN_ASSERT_OK(Follow(larger));
  EXPECT_EQ(ExtractAll(), 2 * kRows);
  cache_->GiveUpMoreThan(larger);
  EXPECT_EQ(ExtractAll(), 2 * kRows);
  FGNN_ASSERT_OK(Follow({.rank_order_key = kKey, .rows = 7}));
  EXPECT_EQ(ExtractAll(), 7U);
  EXPECT_FALSE(cache_->SharedTable().valid());
}

TEST_F(PlannedCacheTest, AsksAgainForATableThatIsNotToBeHadYet) {
  refusal_ = absl::UnavailableError("the one before is mapped");
  for (int i = 1; i <= 3; ++i) {
    FGNN_ASSERT_OK(Follow(Plan()));
    EXPECT_FALSE(cache_->IsFollowed(Plan()));
    EXPECT_EQ(asked_, i);
    EXPECT_EQ(ExtractAll(), 0U);
  }
  refusal_ = absl::OkStatus();
  FGNN_ASSERT_OK(Follow(Plan()));
  EXPECT_TRUE(cache_->IsFollowed(Plan()));
  EXPECT_EQ(ExtractAll(), kRows);
}

TEST_F(PlannedCacheTest, ATableThatDoesNotFitThePlanIsNotUsed) {
  const auto expect_unused = [&](const TrainerCache& plan) {
    FGNN_ASSERT_OK(Follow(plan));
    EXPECT_TRUE(cache_->IsFollowed(plan));  // Not asked for again.
    EXPECT_EQ(ExtractAll(), 0U);
    EXPECT_EQ(other_->filled_rows(), 0U);
  };
  TrainerCache plan = Plan();
  plan.rows = kRows + 1;
  expect_unused(plan);
  plan = Plan();
  plan.table = 2;
  expect_unused(plan);
  MakeTable(5, kRows, /*key=*/kKey + 1);
  expect_unused(Plan());
  table_.Reset(::dup(STDIN_FILENO));
  number_ = 6;
  expect_unused(Plan());
}

}  // namespace
}  // namespace fgnn
