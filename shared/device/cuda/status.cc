#include "shared/device/cuda/status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace fgnn {

absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", cudaGetErrorName(error),
                                           ", ", cudaGetErrorString(error));
  // The last error is this one: it has been reported, and is cleared if it can
  // be.
  cudaGetLastError();
  return error == cudaErrorMemoryAllocation
             ? absl::ResourceExhaustedError(message)
             : absl::InternalError(message);
}

absl::Status AsLasting(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::FailedPreconditionError(status.message());
}

}  // namespace fgnn
