// Vertices that a model would join to others.
#ifndef FGNN_TRAINER_SERVICE_INFER_NEW_NEIGHBORS_H_
#define FGNN_TRAINER_SERVICE_INFER_NEW_NEIGHBORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Vectors of [n, num_best].
struct NewNeighbors {
  uint32_t num_best = 0;  // K
  // Global ids by falling score, of equal ones the smaller first; -1 where a
  // vertex has fewer than K others.
  std::vector<int64_t> vertices;
  std::vector<float> scores;  // See ScorePairs().
};

// Returns for each of the n `vertices` the K others that score highest, of
// those that no edge of the graph joins to it, in either direction. Exact: it
// scores every pair, block by block. Every number of threads gives the same
// bits.
//
// Time: the inference of all N vertices, two passes over the edges, and n N
// hidden multiplications. Memory: N (hidden + 1) + 3 n K words, one for each
// out-edge of the vertices, and 128 K for each thread.
//
// InvalidArgument: a vertex is not in the graph. ResourceExhausted: it does not
// fit into memory. Other errors: those of InferEmbeddings() and `check`.
absl::StatusOr<NewNeighbors> FindNewNeighbors(
    const InferenceInput& input, absl::Span<const GlobalId> vertices,
    uint32_t num_best);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_NEW_NEIGHBORS_H_
