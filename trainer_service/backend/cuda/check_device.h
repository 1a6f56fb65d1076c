// Whether a GPU is there.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CHECK_DEVICE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CHECK_DEVICE_H_

#include "absl/status/status.h"

namespace fgnn {

// FailedPrecondition, with the way out: GPU number `device` is not there.
// Unimplemented: this build has no CUDA.
absl::Status CheckCudaDevice(int device);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CHECK_DEVICE_H_
