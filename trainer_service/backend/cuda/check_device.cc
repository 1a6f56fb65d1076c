#include "trainer_service/backend/cuda/check_device.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "shared/device/cuda/status.h"

namespace fgnn {

absl::Status CheckCudaDevice(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && device < count) return absl::OkStatus();
  const bool has_none = error == cudaSuccess || error == cudaErrorNoDevice ||
                        error == cudaErrorInsufficientDriver;
  if (!has_none) return CudaStatus(error, "cannot ask for CUDA devices");
  cudaGetLastError();  // It is reported here, and would be the next call's.
  return absl::FailedPreconditionError(absl::StrCat(
      "cuda:", device, " is not there: ",
      error == cudaSuccess
          ? absl::StrCat("this machine has ", count, " CUDA devices")
          : absl::StrCat("there is no driver (", cudaGetErrorString(error),
                         ")"),
      "; see fgnn doctor, or use cpu:0-7 or the like"));
}

}  // namespace fgnn
