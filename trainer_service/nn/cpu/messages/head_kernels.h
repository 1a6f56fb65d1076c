// Attention's operations on one row, whose columns belong to heads; for loops
// in functions with FGNN_TARGET_CLONES.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Columns that are handled side by side; rows may begin at any float. The lanes
// are explicit: in a loop over one sum's columns the compiler may not change
// the order of additions.
inline constexpr int64_t kHeadLanes = 8;
typedef float HeadLanes __attribute__((vector_size(kHeadLanes * sizeof(float)),
                                       aligned(alignof(float)), may_alias));

// Reads through an address, as the way to return such a vector depends on the
// processor.
inline __attribute__((always_inline)) void ReadLanes(const float* from,
                                                     HeadLanes* lanes) {
  *lanes = *reinterpret_cast<const HeadLanes*>(from);
}
inline __attribute__((always_inline)) void ReadLanes(const Bfloat16* from,
                                                     HeadLanes* lanes) {
  for (int64_t l = 0; l < kHeadLanes; ++l) (*lanes)[l] = Widen(from[l]);
}

// Sets out [H] to each head's sum of the products of a's and b's columns.
template <typename NumberOfA, typename NumberOfB>
inline __attribute__((always_inline)) void HeadProducts(const HeadShape& shape,
                                                        const NumberOfA* a,
                                                        const NumberOfB* b,
                                                        float* out) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    const NumberOfA* const of_a = a + h * shape.columns;
    const NumberOfB* const of_b = b + h * shape.columns;
    HeadLanes sums = {};
    int64_t c = 0;
    for (; c + kHeadLanes <= shape.columns; c += kHeadLanes) {
      HeadLanes lanes_of_a;
      HeadLanes lanes_of_b;
      ReadLanes(of_a + c, &lanes_of_a);
      ReadLanes(of_b + c, &lanes_of_b);
      sums += lanes_of_a * lanes_of_b;
    }
    float rest = 0;
    for (; c < shape.columns; ++c) rest += Widen(of_a[c]) * Widen(of_b[c]);
    out[h] = (((sums[0] + sums[4]) + (sums[2] + sums[6])) +
              ((sums[1] + sums[5]) + (sums[3] + sums[7]))) +
             rest;
  }
}

// Adds scales[h] * row to out [H * C], in each head.
template <typename Number>
inline __attribute__((always_inline)) void AddScaledHeads(
    const HeadShape& shape, const float* __restrict scales,
    const Number* __restrict row, float* __restrict out) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float scale = scales[h];
    const Number* __restrict from = row + h * shape.columns;
    float* __restrict to = out + h * shape.columns;
    int64_t c = 0;
    for (; c + kHeadLanes <= shape.columns; c += kHeadLanes) {
      for (int64_t l = 0; l < kHeadLanes; ++l) {
        to[c + l] += scale * Widen(from[c + l]);
      }
    }
    for (; c < shape.columns; ++c) to[c] += scale * Widen(from[c]);
  }
}

// Prefetches the row that comes some turns later, as rows are in random order.
template <typename Number>
inline __attribute__((always_inline)) void PrefetchEntry(const RowLists& lists,
                                                         uint32_t entry,
                                                         uint32_t end_of_all,
                                                         const Number* x,
                                                         int64_t width) {
  if (entry + kPrefetchRows >= end_of_all) return;
  PrefetchRow(reinterpret_cast<const std::byte*>(
                  x + lists.indices[entry + kPrefetchRows] * width),
              static_cast<uint64_t>(width) * sizeof(Number));
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_KERNELS_H_
