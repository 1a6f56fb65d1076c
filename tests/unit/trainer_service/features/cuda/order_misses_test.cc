#include "trainer_service/features/cuda/order_misses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/features/cuda/gather_rows.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

struct Batch {
  std::vector<uint32_t> ranks = {};
  std::vector<uint32_t> places = {};
  uint64_t capacity = 0;
  uint64_t num_places = 0;

  bool IsHit(uint32_t row) const { return ranks[row] < capacity; }
};

Batch MakeBatch(uint32_t rows, uint64_t num_places, uint64_t capacity) {
  std::mt19937_64 random(rows + num_places);
  Batch batch = {.capacity = capacity, .num_places = num_places};
  for (uint32_t i = 0; i < rows; ++i) {
    batch.ranks.push_back(static_cast<uint32_t>(random() % num_places));
    batch.places.push_back(static_cast<uint32_t>(random() % num_places));
  }
  return batch;
}

struct Order {
  std::vector<uint32_t> rows;
  uint32_t hits = 0;
};

Order OrderOf(const Batch& batch, TestGpu* gpu, bool with_ranks = true) {
  const auto rows = static_cast<uint32_t>(batch.places.size());
  auto* const order = gpu->Room<uint32_t>(rows);
  auto* const buckets = gpu->Room<uint32_t>(kMissBucketWords);
  EXPECT_EQ(
      LaunchOrderMisses({.ranks = with_ranks ? gpu->Put(batch.ranks) : nullptr,
                         .miss_places = gpu->Put(batch.places),
                         .capacity = batch.capacity,
                         .rows = rows,
                         .num_places = batch.num_places,
                         .multiprocessors = 2,
                         .order = order,
                         .buckets = buckets},
                        gpu->stream()),
      cudaSuccess);
  return {gpu->Get(order, rows), gpu->Get(buckets + kMissBuckets, 1)[0]};
}

// Every row once, misses by rising parts of the store, then hits.
void ExpectOrder(const Batch& batch, const Order& order) {
  std::vector<uint32_t> all(batch.places.size());
  std::iota(all.begin(), all.end(), 0U);
  std::vector<uint32_t> sorted = order.rows;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted, all);
  const size_t misses = order.rows.size() - order.hits;
  // At least half as many parts as there can be, where the store has the rows.
  const uint64_t part = std::max<uint64_t>(2 * batch.num_places / 254, 1);
  uint64_t highest = 0;
  for (size_t i = 0; i < order.rows.size(); ++i) {
    const uint32_t row = order.rows[i];
    ASSERT_EQ(batch.IsHit(row), i >= misses) << "place " << i;
    if (i >= misses) continue;
    ASSERT_GE(batch.places[row] + part, highest) << "place " << i;
    highest = std::max<uint64_t>(highest, batch.places[row]);
  }
}

TEST(OrderMissesTest, OrdersBatchesOfAnySize) {
  for (const uint32_t rows : {0, 1, 31, 32, 33, 257, 3000}) {
    for (const uint64_t places : {uint64_t{1}, uint64_t{200}, uint64_t{255},
                                  uint64_t{70000}, uint64_t{1} << 32}) {
      SCOPED_TRACE(absl::StrCat(rows, " rows of ", places));
      const Batch batch = MakeBatch(rows, places, places / 2);
      TestGpu gpu;
      ExpectOrder(batch, OrderOf(batch, &gpu));
    }
  }
}

TEST(OrderMissesTest, IsRightInEveryOrderOfThreads) {
  const Batch batch = MakeBatch(700, 9000, 3000);
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    TestGpu gpu(seed);
    ExpectOrder(batch, OrderOf(batch, &gpu));
  }
}

TEST(OrderMissesTest, KnowsBatchesOfHitsAloneAndOfMissesAlone) {
  TestGpu gpu;
  Batch batch = MakeBatch(300, 1000, 1000);
  EXPECT_EQ(OrderOf(batch, &gpu).hits, 300U);
  batch.capacity = 0;
  const Order misses = OrderOf(batch, &gpu);
  EXPECT_EQ(misses.hits, 0U);
  ExpectOrder(batch, misses);
  EXPECT_EQ(OrderOf(MakeBatch(300, 1000, 1000), &gpu, false).hits, 0U);
}

// Rows are one number, so that each of them is told apart.
TEST(OrderMissesTest, ChangesNoRowThatIsGathered) {
  for (const uint64_t capacity : {0, 5, 400, 995, 1000}) {
    for (const uint32_t rows : {1, 33, 500}) {
      SCOPED_TRACE(absl::StrCat(rows, " rows, capacity ", capacity));
      const Batch batch = MakeBatch(rows, 1000, capacity);
      std::vector<float> table(1000), store(1000), wanted;
      for (uint32_t i = 0; i < 1000; ++i) {
        table[i] = static_cast<float>(i);
        store[i] = -1 - static_cast<float>(i);
      }
      for (uint32_t i = 0; i < rows; ++i) {
        wanted.push_back(batch.IsHit(i) ? table[batch.ranks[i]]
                                        : store[batch.places[i]]);
      }
      TestGpu gpu;
      auto* const order = gpu.Room<uint32_t>(rows);
      auto* const buckets = gpu.Room<uint32_t>(kMissBucketWords);
      const auto* const ranks = gpu.Put(batch.ranks);
      const auto* const places = gpu.Put(batch.places);
      ASSERT_EQ(LaunchOrderMisses({.ranks = ranks,
                                   .miss_places = places,
                                   .capacity = capacity,
                                   .rows = rows,
                                   .num_places = 1000,
                                   .order = order,
                                   .buckets = buckets},
                                  gpu.stream()),
                cudaSuccess);
      auto* const out = gpu.Room<float>(rows);
      auto* const hits = gpu.Room<uint32_t>(1);
      ASSERT_EQ(
          LaunchGatherRows(
              {.ranks = ranks,
               .miss_places = places,
               .table = reinterpret_cast<const std::byte*>(gpu.Put(table)),
               .capacity = capacity,
               .misses = reinterpret_cast<const std::byte*>(gpu.Put(store)),
               .order = order,
               .order_hits = buckets + kMissBuckets,
               .rows = rows,
               .columns = 1,
               .out = out,
               .num_hits = hits},
              gpu.stream()),
          cudaSuccess);
      EXPECT_EQ(gpu.Get(out, rows), wanted);
      EXPECT_THAT(gpu.Get(hits, 1), ElementsAre(gpu.Get(buckets, 256)[255]));
    }
  }
}

}  // namespace
}  // namespace fgnn
