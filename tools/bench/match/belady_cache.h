// A cache that knows the batches to come (Belady, IBM Systems Journal 1966).
#ifndef FGNN_TOOLS_BENCH_MATCH_BELADY_CACHE_H_
#define FGNN_TOOLS_BENCH_MATCH_BELADY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "tools/bench/match/batch_order.h"

namespace fgnn {

// Batches that follow each other, with the next use of each row.
struct FutureRows {
  static constexpr uint32_t kNever = UINT32_MAX;

  BatchSequence batches;
  // next[i][j]: the first batch behind i that has the row j of batch i.
  std::vector<std::vector<uint32_t>> next;
  // [num_nodes] The first batch that has the row.
  std::vector<uint32_t> first;
};
FutureRows LookAhead(BatchSequence batches, uint64_t num_nodes);

struct BeladyOptions {
  // [num_nodes] Hot ranks of the rows. The cache begins with the rows of the
  // lowest ones.
  absl::Span<const uint32_t> ranks;
  uint64_t num_rows = 0;   // Rows of the cache, at most num_nodes.
  size_t num_batches = 0;  // Batches that are counted, from the first one on.
  size_t num_ahead = 0;    // Batches behind a batch that the cache knows.
};

// Returns the hits of the first num_batches batches. Behind each batch the
// cache keeps, of its rows and the batch's, those that are used soonest. Rows
// that none of the next num_ahead batches uses are kept by their hot ranks. If
// all batches are known, no cache of this size that loads only rows for the
// batch at hand hits more often.
uint64_t BeladyHits(const FutureRows& future, const BeladyOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_MATCH_BELADY_CACHE_H_
