// Names of the checkpoints of a run, which the scheduler gives and everybody
// reads.
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

// When a checkpoint was made; a later one is greater.
struct CheckpointAge {
  uint32_t epochs_done = 0;
  uint64_t steps = 0;  // Of the whole job; 0: at the end of an epoch.

  // "epoch-0003.safetensors" or "epoch-0003-step-0000000120.safetensors".
  std::string ToName() const;
  // nullopt: not a name that ToName() gave.
  static std::optional<CheckpointAge> FromName(const std::string& name);

  auto operator<=>(const CheckpointAge&) const = default;
};

inline constexpr char kBestCheckpointName[] = "best.safetensors";

// The checkpoints in a folder, newest first, without the best one, which may
// be a copy of any. NotFound, PermissionDenied.
absl::StatusOr<std::vector<std::filesystem::path>> FindCheckpoints(
    const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_CHECKPOINT_NAME_H_
