#include "shared/config/checkpoint_name.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "shared/base/status.h"

namespace fgnn {

std::string CheckpointAge::ToName() const {
  return steps == 0 ? absl::StrFormat("epoch-%04d.safetensors", epochs_done)
                    : absl::StrFormat("epoch-%04d-step-%010d.safetensors",
                                      epochs_done, steps);
}

std::optional<CheckpointAge> CheckpointAge::FromName(const std::string& name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "epoch-") ||
      !absl::ConsumeSuffix(&rest, ".safetensors")) {
    return std::nullopt;
  }
  CheckpointAge age;
  const std::vector<std::string> parts =
      absl::StrSplit(rest, absl::MaxSplits("-step-", 1));
  if (!absl::SimpleAtoi(parts[0], &age.epochs_done) ||
      (parts.size() == 2 && !absl::SimpleAtoi(parts[1], &age.steps))) {
    return std::nullopt;
  }
  return age;
}

absl::StatusOr<std::vector<std::filesystem::path>> FindCheckpoints(
    const std::filesystem::path& folder) {
  FGNN_ASSIGN_OR_RETURN(std::vector<std::filesystem::path> found,
                        FindCheckpointNames(folder));
  std::erase_if(found, [](const std::filesystem::path& path) {
    std::error_code error;
    return !std::filesystem::is_regular_file(path, error);
  });
  return found;
}

absl::StatusOr<std::vector<std::filesystem::path>> FindCheckpointNames(
    const std::filesystem::path& folder) {
  std::vector<std::pair<CheckpointAge, std::filesystem::path>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto age = CheckpointAge::FromName(entry.path().filename().string());
    if (age.has_value()) found.emplace_back(*age, entry.path());
  }
  if (error) return ErrnoToStatus(error.value(), folder.string());
  std::sort(found.rbegin(), found.rend());
  std::vector<std::filesystem::path> checkpoints;
  for (auto& [age, path] : found) checkpoints.push_back(std::move(path));
  return checkpoints;
}

}  // namespace fgnn
