// What attention does with one row, whose columns belong to heads; for loops
// that FGNN_TARGET_CLONES stands before.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_HEAD_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_HEAD_KERNELS_H_

#include <cstdint>

namespace fgnn {

// A row of H * C columns: head h has those in [h * C, (h + 1) * C).
struct HeadShape {
  int64_t heads = 1;    // H
  int64_t columns = 1;  // C, of each head.

  int64_t width() const { return heads * columns; }
};

// Columns that the compiler makes one or two vectors of.
inline constexpr int64_t kHeadLanes = 8;

// out [H] = of each head the sum of the products of a's and b's columns.
inline __attribute__((always_inline)) void HeadProducts(
    const HeadShape& shape, const float* __restrict a,
    const float* __restrict b, float* __restrict out) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float* __restrict of_a = a + h * shape.columns;
    const float* __restrict of_b = b + h * shape.columns;
    float sums[kHeadLanes] = {};
    int64_t c = 0;
    for (; c + kHeadLanes <= shape.columns; c += kHeadLanes) {
      for (int64_t l = 0; l < kHeadLanes; ++l) {
        sums[l] += of_a[c + l] * of_b[c + l];
      }
    }
    for (int64_t l = 0; c < shape.columns; ++c, ++l) {
      sums[l] += of_a[c] * of_b[c];
    }
    out[h] = ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
             ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }
}

// out [H * C] += scales[h] * row, in each head.
inline __attribute__((always_inline)) void AddScaledHeads(
    const HeadShape& shape, const float* __restrict scales,
    const float* __restrict row, float* __restrict out) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float scale = scales[h];
    const float* __restrict from = row + h * shape.columns;
    float* __restrict to = out + h * shape.columns;
    int64_t c = 0;
    for (; c + kHeadLanes <= shape.columns; c += kHeadLanes) {
      for (int64_t l = 0; l < kHeadLanes; ++l) to[c + l] += scale * from[c + l];
    }
    for (; c < shape.columns; ++c) to[c] += scale * from[c];
  }
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_HEAD_KERNELS_H_
