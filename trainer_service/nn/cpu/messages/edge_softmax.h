// The weights of attention, forwards and backwards: for each list and head a
// softmax of the scores of the list's entries (Velickovic et al., "Graph
// Attention Networks", section 2.1, equation 3). The score of entry j of list i
// is
//   leaky_relu(sources_j + destinations_i), of slope 0.2.
// There are H heads; arrays of entries are those of head_sums.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_EDGE_SOFTMAX_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_EDGE_SOFTMAX_H_

#include <cstdint>

#include "trainer_service/nn/model.h"

namespace fgnn {

struct EdgeScores {
  int64_t heads = 1;                    // At most kMostHeads.
  const float* sources = nullptr;       // [S, H]
  const float* destinations = nullptr;  // [D, H]
};

// LeakyRelu() and its derivative.
inline float LeakySlope(float score) { return score < 0 ? 0.2F : 1.0F; }
inline float LeakyRelu(float score) { return score * LeakySlope(score); }

// Computes weights [entries, H] of the lists in [first, last), for scores of
// any size. They are NaN where a score of the list is. No list is empty.
void EdgeSoftmax(const EdgeScores& scores, const RowLists& lists, int64_t first,
                 int64_t last, float* weights);

// Replaces the gradient of `weights`, which EdgeSoftmax() made, by that of
// LeakyRelu()'s argument, [entries, H]. Sets destinations [D, H] to its sum
// over each list in [first, last).
void GradientOfEdgeSoftmax(const EdgeScores& scores, const RowLists& lists,
                           int64_t first, int64_t last, const float* weights,
                           float* gradient, float* destinations);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_EDGE_SOFTMAX_H_
