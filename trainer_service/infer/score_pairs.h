// Scores of pairs of vertices by a model that predicts links.
#ifndef FGNN_TRAINER_SERVICE_INFER_SCORE_PAIRS_H_
#define FGNN_TRAINER_SERVICE_INFER_SCORE_PAIRS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Returns the score of each pair, [n], as RankEdges() scores edges: the dot
// product of the two embeddings. The order of the two does not matter. NaN is
// -infinity. `pairs` is [n, 2]. Only the vertices of the pairs are inferred.
// Every number of threads gives the same bits. InvalidArgument: a vertex is not
// in the graph. ResourceExhausted: the embeddings do not fit into memory. Other
// errors: those of InferEmbeddings().
absl::StatusOr<std::vector<float>> ScorePairs(const InferenceInput& input,
                                              absl::Span<const GlobalId> pairs);

// Returns the probability that the model gives a pair of this score: its
// sigmoid.
float ProbabilityOfScore(float score);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_SCORE_PAIRS_H_
