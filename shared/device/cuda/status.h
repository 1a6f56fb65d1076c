// The one place where CUDA's errors become Status.
#ifndef FGNN_SHARED_DEVICE_CUDA_STATUS_H_
#define FGNN_SHARED_DEVICE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fgnn {

// Returns OK for cudaSuccess. Else the message has `what`, CUDA's name of the
// error and its text. cudaErrorMemoryAllocation is ResourceExhausted, all else
// Internal: most errors of CUDA stay until the process ends.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

// Returns a device's want of memory as FailedPrecondition: callers wait for
// ResourceExhausted to pass, as it does in the host's memory. Other statuses
// stay as they are.
absl::Status AsLasting(const absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_STATUS_H_
