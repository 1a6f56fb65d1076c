// Dropout for wide registers, with the bits of the portable loop.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_

#include <cstdint>

#include "trainer_service/nn/cpu/dropout.h"

namespace fgnn {

// ApplyDropout() of whole tiles, `count` a multiple of kDropoutTile, with ReLU
// before it where `relu`. These are for processors with AVX-512BW.
void DropTilesAvx512(const Dropout& dropout, bool relu, int64_t first,
                     int64_t count, float* values);

// AddRowReluAndDropout() of whole tiles.
void FinishTilesAvx512(const Dropout& dropout, const RepeatedRow& row,
                       int64_t first, int64_t count, const float* z, float* to);
void FinishTilesAvx512(const Dropout& dropout, const RepeatedRow& row,
                       int64_t first, int64_t count, const float* z,
                       Bfloat16* to);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_KERNELS_H_
