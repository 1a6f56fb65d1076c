// The choice of a kernel by the type of its numbers and by the unit of rows
// that a thread has.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_CUDA_NUMBER_TYPES_CUH_
#define FGNN_TRAINER_SERVICE_COMPUTE_CUDA_NUMBER_TYPES_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "shared/graph/feature_type.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {

// Returns launch(Number()), where Number is float or Bfloat16, as `type` says.
// Returns cudaErrorInvalidValue for another type.
template <typename Launcher>
cudaError_t LaunchForType(FeatureType type, const Launcher& launch) {
  switch (type) {
    case FeatureType::kFloat32:
      return launch(float());
    case FeatureType::kBfloat16:
      return launch(Bfloat16());
    case FeatureType::kFloat16:
      break;
  }
  return cudaErrorInvalidValue;
}

// Returns launch(std::integral_constant<int, B>()), where B is `bytes` or, if
// that is more, kMostBytes. Both are powers of 2. Returns cudaErrorInvalidValue
// for units that have less than a Number.
template <typename Number, int kMostBytes = 16, typename Launcher>
cudaError_t LaunchForUnit(int bytes, const Launcher& launch) {
  if (bytes >= kMostBytes) {
    return launch(std::integral_constant<int, kMostBytes>());
  }
  if constexpr (kMostBytes > static_cast<int>(sizeof(Number))) {
    return LaunchForUnit<Number, kMostBytes / 2>(bytes, launch);
  }
  return cudaErrorInvalidValue;
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_CUDA_NUMBER_TYPES_CUH_
