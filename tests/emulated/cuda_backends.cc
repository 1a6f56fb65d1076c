// The back ends of emulated GPUs, for a program: they multiply by plain loops.
#include "trainer_service/backend/cuda/cuda_backends.h"

#include <cstdlib>

#include "tests/fakes/cuda/plain_products.h"
#include "trainer_service/backend/cuda/cuda_backend.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {

BackendFactory CudaBackends(int device) {
  return CudaBackendsWith([] { return simt::NewPlainProducts(); }, device);
}

InferenceDeviceOpener CudaInferences() {
  return [](int device, const ModelOptions& options, ThreadTeam* team) {
    return CudaInferenceDevice::Open(
        device, [] { return simt::NewPlainProducts(); }, options, team);
  };
}

absl::StatusOr<std::string> NameCublas() {
  const char* const word = std::getenv("FGNN_FAKE_CUBLAS");
  if (word == nullptr) return "cuBLAS emulated";
  return LoadCublasLt("lib/fgnn/cublas", {}).status();
}

}  // namespace fgnn
