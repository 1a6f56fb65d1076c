// Dropout for wide registers, with the same bits as the portable loop.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_H_

#include <cstdint>

#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {

// Functions for whole tiles: `count` is a multiple of kDropoutTile.
struct DropoutKernels {
  // ApplyDropout(), with ReLU before it if `relu`.
  void (*drop)(const Dropout& dropout, bool relu, int64_t first, int64_t count,
               float* values);
  // AddRowReluAndDropout().
  void (*finish_floats)(const Dropout& dropout, const RepeatedRow& row,
                        int64_t first, int64_t count, const float* z,
                        float* to);
  void (*finish_bfloat16s)(const Dropout& dropout, const RepeatedRow& row,
                           int64_t first, int64_t count, const float* z,
                           Bfloat16* to);
};

// May be called only if the processor has AVX-512BW, or AVX2.
extern const DropoutKernels kDropoutAvx512;
extern const DropoutKernels kDropoutAvx2;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_KERNELS_H_
