// Dropout of whole tiles, for any width of register.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_BODY_H_

#include <cstdint>

#include "trainer_service/nn/cpu/kernels/dropout_kernels.h"

namespace fgnn {

// Vec has Load and Add of a register of floats. It also has
// DropTile<kRelu>(dropout, element, load, to) for one tile, where load(i) is
// the register from element i on.
template <typename Vec>
class DropoutBody {
 public:
  static void Drop(const Dropout& dropout, bool relu, int64_t first,
                   int64_t count, float* values) {
    for (int64_t at = 0; at < count; at += kDropoutTile) {
      float* const tile = values + at;
      const auto load = [tile](int i) { return Vec::Load(tile + i); };
      if (relu) {
        Vec::template DropTile<true>(dropout, first + at, load, tile);
      } else {
        Vec::template DropTile<false>(dropout, first + at, load, tile);
      }
    }
  }

  template <typename Number>
  static void Finish(const Dropout& dropout, const RepeatedRow& row,
                     int64_t first, int64_t count, const float* z, Number* to) {
    int64_t column = first % row.columns();
    for (int64_t at = 0; at < count; at += kDropoutTile) {
      const float* const values = z + at;
      const float* const added = row.floats() + column;
      Vec::template DropTile<true>(
          dropout, first + at,
          [=](int i) {
            return Vec::Add(Vec::Load(values + i), Vec::Load(added + i));
          },
          to + at);
      column += kDropoutTile;
      if (column >= row.columns()) column %= row.columns();
    }
  }
};

template <typename Vec>
constexpr DropoutKernels DropoutOf() {
  return {.drop = DropoutBody<Vec>::Drop,
          .finish_floats = DropoutBody<Vec>::template Finish<float>,
          .finish_bfloat16s = DropoutBody<Vec>::template Finish<Bfloat16>};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_BODY_H_
