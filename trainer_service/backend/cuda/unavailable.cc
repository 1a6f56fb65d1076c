// Builds without CUDA link this file in the place of the GPU's back ends.
#include "absl/strings/str_cat.h"
#include "trainer_service/backend/cuda/check_device.h"
#include "trainer_service/backend/cuda/cuda_backends.h"

namespace fgnn {
namespace {

absl::Status Unavailable(int device) {
  return absl::UnimplementedError(absl::StrCat(
      "device cuda:", device,
      ": this build has no CUDA; use a cpu device, or run 'tools/setup "
      "--cuda' and build again"));
}

}  // namespace

absl::Status CheckCudaDevice(int device) { return Unavailable(device); }

BackendFactory CudaBackends(int device) {
  return [device](const JobSpec& /*spec*/, int /*num_threads*/)
             -> absl::StatusOr<std::unique_ptr<TrainerBackend>> {
    return Unavailable(device);
  };
}

InferenceDeviceOpener CudaInferences() {
  return [](int device, const ModelOptions& /*options*/, ThreadTeam* /*team*/)
             -> absl::StatusOr<std::unique_ptr<InferenceDevice>> {
    return Unavailable(device);
  };
}

uint64_t GpuBytesInUse() { return 0; }

absl::StatusOr<std::string> NameCublas() {
  return absl::FailedPreconditionError(
      "this build has no CUDA, and cuBLAS is for GPUs; run 'tools/setup "
      "--cuda' and build again");
}

}  // namespace fgnn
