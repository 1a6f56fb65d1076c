// The part of a trainer that calls libtorch is a library of its own,
// lib/fgnn/libfgnn_torch.so. A trainer opens it for the first model of the
// user's. So all other models are trained without libtorch on the machine.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_LIBRARY_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_LIBRARY_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// The entry that the library exports as kTorchLibrarySymbol.
struct TorchLibrary {
  const char* version;  // Version of FGNN that the library belongs to.
  // FailedPrecondition: the libtorch in this process is of another release than
  // the one that the library was built with.
  absl::Status (*check_release)();
  // See MakeTorchModel() in torch_model.h.
  absl::StatusOr<std::unique_ptr<Model>> (*make_model)(
      const ModelOptions& options, const std::filesystem::path& plugins,
      uint64_t seed, ThreadTeam* team);
};

inline constexpr char kTorchLibrarySymbol[] = "fgnn_torch_library";

// Returns the release of libtorch that FGNN was built with: "2.11.0".
const char* TorchRelease();

// Opens the library, and libtorch with it, or finds them open. They stay open
// until the process ends. Any thread. FailedPrecondition: one of them is
// missing or does not fit; names the command that fetches libtorch.
absl::StatusOr<const TorchLibrary*> OpenTorchLibrary();

// Returns the path of the code that `options` name: the plugin's library in the
// folder `plugins`, or the TorchScript file.
std::filesystem::path CodeOf(const ModelOptions& options,
                             const std::filesystem::path& plugins);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_LIBRARY_H_
