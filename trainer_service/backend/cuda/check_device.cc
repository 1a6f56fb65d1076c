#include "trainer_service/backend/cuda/check_device.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "shared/device/cuda/status.h"
#include "shared/device/gpu_count.h"

namespace fgnn {

absl::Status CheckCudaDevice(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && device < count) return absl::OkStatus();
  const bool has_none = error == cudaSuccess || error == cudaErrorNoDevice ||
                        error == cudaErrorInsufficientDriver;
  if (!has_none) return CudaStatus(error, "cannot ask for CUDA devices");
  cudaGetLastError();  // It is reported here, and would be the next call's.
  const absl::StatusOr<size_t> counted =
      error == cudaSuccess
          ? absl::StatusOr<size_t>(static_cast<size_t>(count))
          : absl::UnavailableError(absl::StrCat(
                "there is no driver (", cudaGetErrorString(error), ")"));
  return absl::FailedPreconditionError(absl::StrCat(
      "cuda:", device, " is not there: ", WhyGpuIsMissing(device, counted),
      "; see fgnn doctor, or use cpu:0-7 or the like"));
}

}  // namespace fgnn
