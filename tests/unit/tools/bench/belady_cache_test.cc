#include "tools/bench/match/belady_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "tests/unit/tools/bench/match_cases.h"

namespace fgnn {
namespace {

BatchSequence InOrder(const std::vector<BatchRows>& batches) {
  BatchSequence sequence;
  for (const BatchRows& batch : batches) sequence.push_back(&batch);
  return sequence;
}

// What a cache can hold at any time, by all choices behind each batch.
uint64_t MostHitsByTrial(const std::vector<BatchRows>& batches,
                         uint32_t num_nodes, uint32_t num_rows) {
  const uint32_t num_sets = 1U << num_nodes;
  std::vector<int64_t> hits(num_sets, -1);
  hits[(1U << num_rows) - 1] = 0;  // The hottest.
  for (const BatchRows& batch : batches) {
    uint32_t rows = 0;
    for (const GlobalId v : batch) rows |= 1U << v;
    std::vector<int64_t> next(num_sets, -1);
    for (uint32_t has = 0; has < num_sets; ++has) {
      if (hits[has] < 0) continue;
      const int64_t now = hits[has] + std::popcount(has & rows);
      for (uint32_t kept = 0; kept < num_sets; ++kept) {
        if ((kept & ~(has | rows)) != 0) continue;
        if (std::popcount(kept) > static_cast<int>(num_rows)) continue;
        next[kept] = std::max(next[kept], now);
      }
    }
    hits = next;
  }
  return static_cast<uint64_t>(*std::max_element(hits.begin(), hits.end()));
}

TEST(BeladyCacheTest, HitsMostWhereAllBatchesAreKnown) {
  constexpr uint32_t kNumNodes = 6;
  const std::vector<uint32_t> ranks = SameRanks(kNumNodes);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const std::vector<BatchRows> batches = RandomBatches(8, kNumNodes, seed);
    const FutureRows future = LookAhead(InOrder(batches), kNumNodes);
    for (uint32_t num_rows = 0; num_rows <= kNumNodes; ++num_rows) {
      const auto hits = [&](size_t num_ahead) {
        return BeladyHits(future, {.ranks = ranks,
                                   .num_rows = num_rows,
                                   .num_batches = batches.size(),
                                   .num_ahead = num_ahead});
      };
      EXPECT_EQ(hits(8), MostHitsByTrial(batches, kNumNodes, num_rows));
      // It keeps the hottest rows if it knows nothing.
      uint64_t hottest = 0;
      for (const BatchRows& batch : batches) {
        hottest += static_cast<uint64_t>(
            std::count_if(batch.begin(), batch.end(),
                          [&](GlobalId v) { return v < num_rows; }));
      }
      EXPECT_EQ(hits(0), hottest);
    }
  }
}

}  // namespace
}  // namespace fgnn
