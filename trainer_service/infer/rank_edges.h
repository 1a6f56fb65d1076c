// How well a model that predicts links tells edges from pairs that are drawn at
// random.
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

// Vertices that an edge's destination is ranked among, beside itself.
inline constexpr uint32_t kNegativesOfAnEdge = 100;

// That of edge `place` of a split, [kNegativesOfAnEdge]: drawn uniformly from
// all vertices, the edge's ends among them. Of the place alone, so that the
// scores of any two jobs compare.
void DrawRankedNegatives(uint64_t place, uint64_t num_nodes,
                         GlobalId* negatives);

// Of a split's edges; all 0 of an empty one. An edge's rank is 1, one more for
// each of its negatives that scores higher, and half of one for each that
// scores the same; a score that is no number is the lowest.
struct EdgeRanking {
  uint64_t num_edges = 0;
  double mean_rank = 0;
  double mrr = 0;  // The mean of 1 / rank.
  // See RocAuc(): of the edges against the first negative of each.
  std::optional<double> roc_auc;
};

// Of each split, from the embeddings of all vertices, which are computed once.
// An edge's score is the dot product of its ends' embeddings. The same bits for
// any number of threads; the processes of a shared inference rank all edges
// each. Errors of InferEmbeddings(); InvalidArgument: an end
// is not in the graph. ResourceExhausted: embeddings or scores do not fit into
// memory.
absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
    const InferenceInput& input, absl::Span<const EdgeView> splits);

// Bytes of all embeddings that RankEdges() ranks by, in memory that the
// processes of a shared inference share.
uint64_t EmbeddingBytes(const InferenceInput& input);
// Bytes that it takes beside these and InferenceBytes(), for a split of so many
// edges.
uint64_t RankingBytes(const InferenceInput& input, uint64_t num_edges);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_RANK_EDGES_H_
