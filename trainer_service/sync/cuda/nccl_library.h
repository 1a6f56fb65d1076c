// NVIDIA's NCCL, opened when it is first needed.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_LIBRARY_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_LIBRARY_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/sync/cuda/nccl_api.h"

namespace fgnn {

// Opens the library from the first of these places that has it:
//   1. lib/fgnn/nccl beside the folder of this program,
//   2. where the system looks for libraries (LD_LIBRARY_PATH, its cache).
// FailedPrecondition: it is in none of them, and the message has the command
// that fetches it.
absl::StatusOr<nccl::Api> OpenNccl();

// Returns "NCCL 2.28.9". Internal: the library does not say its version.
absl::StatusOr<std::string> NameOf(const nccl::Api& api);

// Opens the library in the folder of its package or one of `others`: see
// OpenPackagedLibrary().
absl::StatusOr<nccl::Api> LoadNccl(const std::filesystem::path& folder,
                                   absl::Span<const std::string> others);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_LIBRARY_H_
