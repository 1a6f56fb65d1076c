// Dense products by NVIDIA's cuBLASLt.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/nn/cuda/cublas_lt_api.h"
#include "trainer_service/nn/cuda/products.h"

namespace fgnn {

// Returns products on the current device. It opens the library on the first
// call, in tenths of a second, from
//   1. lib/fgnn/cublas beside the folder of this program,
//   2. where the system looks for libraries (LD_LIBRARY_PATH, its cache),
//   3. /usr/local/cuda.
// FailedPrecondition: it is in none of them, and the message has the command
// that fetches it; or the device cannot be used. ResourceExhausted: the device
// has no 32 MiB of memory left.
absl::StatusOr<std::unique_ptr<DenseProducts>> OpenCublasLt();

// Opens the library as OpenCublasLt() does, and returns "cuBLAS 13.1.0". No GPU
// has to be there. FailedPrecondition: as above.
absl::StatusOr<std::string> NameCublasLt();

// The two parts of OpenCublasLt(), for tests.

// Opens the library in the folder of its package or one of `others`: see
// OpenPackagedLibrary().
absl::StatusOr<cublas_lt::Api> LoadCublasLt(
    const std::filesystem::path& folder, absl::Span<const std::string> others);

// Multiplies with these functions. Errors as above.
absl::StatusOr<std::unique_ptr<DenseProducts>> NewCublasLt(
    const cublas_lt::Api& api);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_H_
