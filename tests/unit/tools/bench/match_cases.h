// Random batches, and the best of all their orders.
#ifndef FGNN_TESTS_UNIT_TOOLS_BENCH_MATCH_CASES_H_
#define FGNN_TESTS_UNIT_TOOLS_BENCH_MATCH_CASES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "tests/reference/sampling_reference.h"
#include "tools/bench/match/batch_order.h"

namespace fgnn {

// Ranks of n vertices, whose numbers are their ranks.
inline std::vector<uint32_t> SameRanks(uint32_t n) {
  std::vector<uint32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

inline std::vector<BatchRows> RandomBatches(size_t count, uint32_t num_nodes,
                                            uint64_t seed) {
  reference::TestDraws draws(seed);
  std::vector<BatchRows> batches(count);
  for (BatchRows& batch : batches) {
    std::set<uint32_t> rows;
    for (uint64_t i = draws.Below(num_nodes); i > 0; --i) {
      rows.insert(static_cast<uint32_t>(draws.Below(num_nodes)));
    }
    batch.assign(rows.begin(), rows.end());
  }
  return batches;
}

inline WindowOverlap CounterFor(uint64_t num_nodes) {
  return WindowOverlap::Create(num_nodes).value();
}

// Returns how many rows two batches have in common.
inline uint64_t Shared(const BatchRows& a, const BatchRows& b) {
  return static_cast<uint64_t>(std::count_if(
      a.begin(), a.end(),
      [&](GlobalId v) { return std::count(b.begin(), b.end(), v) > 0; }));
}

inline uint64_t MatchedInOrder(const std::vector<BatchRows>& batches,
                               const std::vector<size_t>& order) {
  uint64_t matched = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    matched += Shared(batches[order[i - 1]], batches[order[i]]);
  }
  return matched;
}

// Tries all orders of the windows from `begin` on.
inline uint64_t BestByTrial(const std::vector<BatchRows>& batches,
                            const MatchedOrderOptions& options, size_t begin,
                            std::vector<size_t> order) {
  if (begin == batches.size()) return MatchedInOrder(batches, order);
  const size_t end = std::min<size_t>(
      WindowOf(BatchSeq(begin), options).end.value(), batches.size());
  std::vector<size_t> part(end - begin);
  std::iota(part.begin(), part.end(), begin);
  uint64_t best = 0;
  do {
    std::vector<size_t> longer = order;
    longer.insert(longer.end(), part.begin(), part.end());
    best = std::max(best, BestByTrial(batches, options, end, longer));
  } while (std::next_permutation(part.begin(), part.end()));
  return best;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_BENCH_MATCH_CASES_H_
