// Arrays that keep their memory from batch to batch.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_GROWING_ARRAY_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_GROWING_ARRAY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "shared/base/status.h"

namespace fgnn {

// Makes `array`, a DeviceArray or a PinnedArray, one of at least `count`
// elements. A new one has an eighth more, as batches differ. It has no values,
// and the old one is freed first: the device may not have room for both.
// ResourceExhausted: there is no such memory; the array is then empty.
template <typename Array>
absl::Status GrowArray(uint64_t count, Array* array) {
  if (array->size() >= count) return absl::OkStatus();
  *array = {};
  FGNN_ASSIGN_OR_RETURN(*array, Array::Make(count + count / 8));
  return absl::OkStatus();
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_GROWING_ARRAY_H_
