// Dropout for wide registers, with the bits of the portable loop.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_

#include <cstdint>

#include "trainer_service/nn/cpu/dropout.h"

namespace fgnn {

// ApplyDropout() of whole tiles, `count` a multiple of kDropoutTile, with ReLU
// before it where `relu`. Only where the processor has AVX-512F.
void DropTilesAvx512(const Dropout& dropout, bool relu, int64_t first,
                     int64_t count, float* values);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_
