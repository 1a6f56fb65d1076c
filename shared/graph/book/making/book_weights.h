// What the parts of a book are balanced by.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_WEIGHTS_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct BookBalance {
  bool vertices = true;
  bool work = true;
  bool train = true;  // Train vertices.
  // [N]: the work of each vertex; empty: its number of in-edges. Borrowed.
  absl::Span<const uint32_t> visits = {};
};

// Largest sum of the weights of a kind: METIS of Debian computes in 32 bits.
inline constexpr uint64_t kMostWeight = INT32_MAX;

// The weights of the vertices, of each kind that is not 0 everywhere. Without
// any kind, each vertex weighs 1.
struct BookWeights {
  uint32_t kinds = 0;
  std::vector<int32_t> of_vertices = {};  // [N, kinds]
  std::vector<int64_t> totals = {};       // [kinds]: at most kMostWeight.

  absl::Span<const int32_t> Of(uint64_t v) const {
    return absl::MakeConstSpan(of_vertices).subspan(v * kinds, kinds);
  }
};

// Weights whose sum would exceed kMostWeight are scaled down, and stay at least
// 1 where they were. InvalidArgument, naming file and element: the dataset has
// changed.
absl::StatusOr<BookWeights> ReadBookWeights(const Dataset& dataset,
                                            const BookBalance& balance);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_WEIGHTS_H_
