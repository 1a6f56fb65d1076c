#include "trainer_service/nn/cpu/edge_softmax.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// exp(x) of x <= 0 to 2 units in the last place, without a branch, so that the
// compiler makes vectors of it; at least exp(-87), which is nothing beside the
// largest weight's 1. NaN stays.
inline __attribute__((always_inline)) float ExpOfNegative(float x) {
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts, of which the first has zeros at its end: x - n ln 2 is
  // exact but for its last rounding.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: rounds what is added.
  const float bounded = x < -87.0F ? -87.0F : x;
  const float shifted = bounded * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  // Taylor's series, |r| <= ln 2 / 2.
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  // 2^n: the last bits of `shifted` are n.
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127U) << 23;
  return series * std::bit_cast<float>(exponent);
}

// Scores less the largest one of their list and head.
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
  // Of all lists at once: one loop, however short the lists.
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
