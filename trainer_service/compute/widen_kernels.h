// Kernels of widen.cc that only some processors can run.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_KERNELS_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_KERNELS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"

namespace fgnn {

inline constexpr int64_t kRoundedAtOnce = 32;

// RoundToBfloat16s() for a multiple of kRoundedAtOnce numbers.
void RoundManyAvx512(const float* from, int64_t count, Bfloat16* to);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_KERNELS_H_
