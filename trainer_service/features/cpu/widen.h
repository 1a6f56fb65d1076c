// Numbers of stored features as f32.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_WIDEN_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_WIDEN_H_

#include <cstddef>
#include <cstdint>

#include "shared/graph/dataset.h"

namespace fgnn {

// `count` numbers of `type` at `from` to `to`. Exact.
void WidenToFloats(FeatureType type, const std::byte* from, uint64_t count,
                   float* to);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_WIDEN_H_
