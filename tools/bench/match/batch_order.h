// Orders of batches in which neighbours share many rows of features: FastGL,
// section 4.1, Algorithm 1, which reorders a window of batches. Rows are
// numbers of vertices. What a batch shares with the one before it need not be
// loaded again.
//
// Repairs of the paper's algorithm. A batch is taken once, and never matches
// itself. Batches are compared by the rows they share, not by the share of the
// rows. A window begins at the batch with which the window before ended.
#ifndef FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_
#define FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/types.h"

namespace fgnn {

// Rows of a batch, each of them once.
using BatchRows = std::vector<GlobalId>;

inline constexpr size_t kMostWindow = 64;
// Most batches of a window for which MostMatched() finds the best order.
inline constexpr size_t kMostBestWindow = 12;

// Counts rows that batches share. Takes 8 bytes per vertex. Thread-compatible.
class SharedRows {
 public:
  using Table = std::vector<std::vector<uint64_t>>;

  explicit SharedRows(uint64_t num_nodes) : masks_(num_nodes) {}

  // Returns [n][n]: rows that batches a and b share; the diagonal holds the
  // rows of each. At most kMostWindow batches.
  Table Of(absl::Span<const BatchRows> batches);

  // Returns [n]: rows that each batch shares with `other`.
  std::vector<uint64_t> With(const BatchRows& other,
                             absl::Span<const BatchRows> batches);

 private:
  // For each vertex, the batches that have it, as bits; 0 between calls.
  std::vector<uint64_t> masks_;
};

// Returns a window's batches [n], the first first: each is the one that shares
// the most rows with the one before it, of those that are left; of equal ones
// the lowest number. `with_before` [n]: rows shared with the batch before the
// window.
std::vector<size_t> GreedyOrder(const SharedRows::Table& shared,
                                absl::Span<const uint64_t> with_before);

// Returns the rows that batches share with the one before, in sum, if each
// window of `window` batches is ordered by GreedyOrder(). `window` is in [1,
// kMostWindow].
uint64_t GreedyMatched(absl::Span<const BatchRows> batches, size_t window,
                       SharedRows* counter);

// Returns the same sum for the best orders of all windows, by dynamic
// programming. `window` is in [1, kMostBestWindow].
uint64_t MostMatched(absl::Span<const BatchRows> batches, size_t window,
                     SharedRows* counter);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_
