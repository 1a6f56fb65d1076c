#include "trainer_service/backend/cuda/cuda_backends.h"

#include "trainer_service/backend/cuda/cuda_backend.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {

BackendFactory CudaBackends(int device) {
  return CudaBackendsWith(OpenCublasLt, device);
}

}  // namespace fgnn
