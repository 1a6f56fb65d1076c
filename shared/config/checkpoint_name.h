// Names of the checkpoints of a run. The scheduler gives them; daemons and
// tools read them.
#ifndef FGNN_SHARED_CONFIG_CHECKPOINT_NAME_H_
#define FGNN_SHARED_CONFIG_CHECKPOINT_NAME_H_

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fgnn {

// Age of a checkpoint; a later one is greater.
struct CheckpointAge {
  uint32_t epochs_done = 0;
  uint64_t steps = 0;  // Steps of the whole job; 0: at the end of an epoch.

  // "epoch-0003.safetensors" or "epoch-0003-step-0000000120.safetensors".
  std::string ToName() const;
  // Returns nullopt if ToName() never gives this name.
  static std::optional<CheckpointAge> FromName(const std::string& name);

  auto operator<=>(const CheckpointAge&) const = default;
};

inline constexpr char kBestCheckpointName[] = "best.safetensors";

// Returns the checkpoints in a folder, newest first: plain files, and links to
// such. The best one is left out, as it may be a copy of any. NotFound,
// PermissionDenied.
absl::StatusOr<std::vector<std::filesystem::path>> FindCheckpoints(
    const std::filesystem::path& folder);

// Returns also whatever else has a checkpoint's name, such as folders.
absl::StatusOr<std::vector<std::filesystem::path>> FindCheckpointNames(
    const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_CHECKPOINT_NAME_H_
