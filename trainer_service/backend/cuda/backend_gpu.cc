#include "trainer_service/backend/cuda/backend_gpu.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"

namespace fgnn {

absl::Status BackendGpu::Choose() const {
  return CudaStatus(cudaSetDevice(number_), absl::StrCat("cuda:", number_));
}

absl::StatusOr<DeviceMemory> BackendGpu::Memory() const {
  FGNN_RETURN_IF_ERROR(Choose());
  size_t free = 0;
  size_t total = 0;
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total),
                                  "cannot ask for the device's memory"));
  return DeviceMemory{.total_bytes = total, .free_bytes = free};
}

absl::StatusOr<std::string> BackendGpu::Name() const {
  cudaDeviceProp properties;
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, number_),
                                  "cannot ask for the device's properties"));
  return std::string(properties.name);
}

absl::StatusOr<uint32_t> BackendGpu::NumMultiprocessors() const {
  int count = 0;
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, number_),
      "cannot ask for the number of multiprocessors"));
  return static_cast<uint32_t>(count);
}

absl::Status BackendGpu::ReportIfLost(const absl::Status& status) const {
  if (!absl::IsInternal(status) || Memory().ok()) return status;
  const absl::Status lost = absl::InternalError(absl::StrCat(
      status.message(), "; cuda:", number_,
      " answers this process no more, which has to end and be restarted"));
  if (on_lost_ != nullptr) on_lost_(lost);
  return lost;
}

}  // namespace fgnn
