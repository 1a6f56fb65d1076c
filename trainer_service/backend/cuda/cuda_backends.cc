#include "trainer_service/backend/cuda/cuda_backends.h"

#include "trainer_service/backend/cuda/cuda_backend.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {

BackendFactory CudaBackends(int device) {
  return CudaBackendsWith(OpenCublasLt, device);
}

InferenceDeviceOpener CudaInferences() {
  return [](int device, const ModelOptions& options, ThreadTeam* team) {
    return CudaInferenceDevice::Open(device, OpenCublasLt, options, team);
  };
}

absl::StatusOr<std::string> NameCublas() { return NameCublasLt(); }

}  // namespace fgnn
