#include "trainer_service/nn/cpu/messages/edge_softmax.h"

#include <algorithm>
#include <limits>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

// Subtracts the largest score of a list and head from its scores.
inline __attribute__((always_inline)) void ScoresBelowZero(
    const EdgeScores& scores, const RowLists& lists, int64_t i,
    float* weights) {
  const int64_t heads = scores.heads;
  const float* __restrict own = scores.destinations + i * heads;
  const uint32_t begin = lists.indptr[i];
  const uint32_t end = lists.indptr[i + 1];
  float largest[kMostHeads];
  std::fill_n(largest, heads, -std::numeric_limits<float>::infinity());
  for (uint32_t e = begin; e < end; ++e) {
    const float* __restrict from = scores.sources + lists.indices[e] * heads;
    float* __restrict to = weights + e * heads;
    for (int64_t h = 0; h < heads; ++h) {
      const float score = LeakyRelu(from[h] + own[h]);
      to[h] = score;
      largest[h] = largest[h] < score ? score : largest[h];
    }
  }
  for (uint32_t e = begin; e < end; ++e) {
    float* __restrict to = weights + e * heads;
    for (int64_t h = 0; h < heads; ++h) to[h] -= largest[h];
  }
}

// Divides the exponentials of one list by their sum, head by head.
inline __attribute__((always_inline)) void Normalize(int64_t heads,
                                                     const RowLists& lists,
                                                     int64_t i,
                                                     float* weights) {
  const uint32_t begin = lists.indptr[i];
  const uint32_t end = lists.indptr[i + 1];
  float scales[kMostHeads];
  std::fill_n(scales, heads, 0.0F);
  for (uint32_t e = begin; e < end; ++e) {
    const float* __restrict from = weights + e * heads;
    for (int64_t h = 0; h < heads; ++h) scales[h] += from[h];
  }
  for (int64_t h = 0; h < heads; ++h) scales[h] = 1.0F / scales[h];
  for (uint32_t e = begin; e < end; ++e) {
    float* __restrict to = weights + e * heads;
    for (int64_t h = 0; h < heads; ++h) to[h] *= scales[h];
  }
}

}  // namespace

FGNN_TARGET_CLONES
void EdgeSoftmax(const EdgeScores& scores, const RowLists& lists, int64_t first,
                 int64_t last, float* weights) {
  const int64_t heads = scores.heads;
  for (int64_t i = first; i < last; ++i) {
    ScoresBelowZero(scores, lists, i, weights);
  }
  // One loop over all lists, however short these are.
  for (int64_t at = lists.indptr[first] * heads;
       at < lists.indptr[last] * heads; ++at) {
    weights[at] = ExpOfNegative(weights[at]);
  }
  for (int64_t i = first; i < last; ++i) Normalize(heads, lists, i, weights);
}

FGNN_TARGET_CLONES
void GradientOfEdgeSoftmax(const EdgeScores& scores, const RowLists& lists,
                           int64_t first, int64_t last, const float* weights,
                           float* gradient, float* destinations) {
  const int64_t heads = scores.heads;
  for (int64_t i = first; i < last; ++i) {
    const float* __restrict own = scores.destinations + i * heads;
    float* __restrict sums = destinations + i * heads;
    float means[kMostHeads];
    std::fill_n(means, heads, 0.0F);
    std::fill_n(sums, heads, 0.0F);
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const float* __restrict weight = weights + e * heads;
      const float* __restrict of_weight = gradient + e * heads;
      for (int64_t h = 0; h < heads; ++h) means[h] += weight[h] * of_weight[h];
    }
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const float* __restrict from = scores.sources + lists.indices[e] * heads;
      const float* __restrict weight = weights + e * heads;
      float* __restrict to = gradient + e * heads;
      for (int64_t h = 0; h < heads; ++h) {
        to[h] = weight[h] * (to[h] - means[h]) * LeakySlope(from[h] + own[h]);
        sums[h] += to[h];
      }
    }
  }
}

}  // namespace fgnn
