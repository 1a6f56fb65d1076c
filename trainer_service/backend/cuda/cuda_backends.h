// The back ends of a GPU, for programs. Sees nothing of CUDA.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKENDS_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKENDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/infer/inference_device.h"

namespace fgnn {

// Returns the function that opens back ends on GPU number `device`. The process
// ends when the GPU is lost to it (CudaBackendOptions::on_lost), so that it can
// be started again. Errors of the function: see CudaBackend::OpenForJob().
// Unimplemented: this build has no CUDA.
BackendFactory CudaBackends(int device);

// Returns the bytes of GPUs' memory that this process has. Any thread.
uint64_t GpuBytesInUse();

// Returns the function that opens a GPU for inferences alone.
InferenceDeviceOpener CudaInferences();

// Opens cuBLAS, with which these multiply, and returns "cuBLAS 13.1.0". No GPU
// has to be there. FailedPrecondition: the library is not there, or this build
// has no CUDA; the message has the way out.
absl::StatusOr<std::string> NameCublas();

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKENDS_H_
