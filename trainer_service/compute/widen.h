// Converts stored features to f32, exactly, and f32 to 16 bits, rounded.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_H_

#include <cstddef>
#include <cstdint>

#include "shared/graph/dataset.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {

// Converts `count` numbers at `from` to `to`.
void RoundToBfloat16s(const float* from, int64_t count, Bfloat16* to);

// Converts `count` finite numbers to `type`, kFloat16 or kBfloat16. Returns
// false if one is too large, and has become infinite.
bool RoundNumbers(FeatureType type, const float* from, uint64_t count,
                  std::byte* to);

// Converts `count` numbers of `type` at `from` to `to`.
void WidenToFloats(FeatureType type, const std::byte* from, uint64_t count,
                   float* to);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_WIDEN_H_
