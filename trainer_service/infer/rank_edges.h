// Measures how well a model that predicts links tells edges from random pairs.
#ifndef FGNN_TRAINER_SERVICE_INFER_RANK_EDGES_H_
#define FGNN_TRAINER_SERVICE_INFER_RANK_EDGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Number of vertices that an edge's destination is ranked among, beside itself.
inline constexpr uint32_t kNegativesOfAnEdge = 100;

// Draws the negatives of edge `place` of a split, [kNegativesOfAnEdge],
// uniformly from all vertices, the edge's ends included. They depend on the
// place alone, so that the scores of any two jobs compare.
void DrawRankedNegatives(uint64_t place, uint64_t num_nodes,
                         GlobalId* negatives);

// Scores of a split's edges; all 0 for an empty split. An edge's rank is 1, one
// more for each of its negatives that scores higher, and half for each that
// scores the same. A score of NaN is the lowest.
struct EdgeRanking {
  uint64_t num_edges = 0;
  double mean_rank = 0;
  double mrr = 0;  // Mean of 1 / rank.
  // See RocAuc(): the edges against the first negative of each.
  std::optional<double> roc_auc;
};

// Returns the ranking of each split, from the embeddings of all vertices, which
// are computed once. An edge's score is the dot product of its ends'
// embeddings. Every number of threads gives the same bits. In a shared
// inference each process ranks all edges. InvalidArgument: an end is not in the
// graph. ResourceExhausted: embeddings or scores do not fit into memory. Other
// errors: those of InferEmbeddings().
absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
    const InferenceInput& input, absl::Span<const EdgeView> splits);

// Returns the bytes of all embeddings of RankEdges(), in memory that the
// processes of a shared inference share.
uint64_t EmbeddingBytes(const InferenceInput& input);
// Returns the bytes that RankEdges() takes beside these and InferenceBytes(),
// for a split of so many edges.
uint64_t RankingBytes(const InferenceInput& input, uint64_t num_edges);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_RANK_EDGES_H_
