// The names of what a run leaves in its folder. Whoever deletes a run deletes
// these alone: other files in the folder are the user's.
#ifndef FGNN_SCHEDULER_FILES_RUN_FILES_H_
#define FGNN_SCHEDULER_FILES_RUN_FILES_H_

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "scheduler/figures/run_metrics.h"
#include "scheduler/files/run_timeline.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/config/checkpoint_name.h"

namespace fgnn {

inline constexpr char kJobYamlName[] = "job.yaml";
inline constexpr char kDigestsName[] = "batches.crc";
inline constexpr char kSummaryName[] = "summary.json";
// The folder of checkpoints.
inline constexpr char kCheckpointsName[] = "checkpoints";
// Name of the new best checkpoint before it replaces the old one.
inline constexpr char kNextBestName[] = ".best.next";

// Files that a run replaces as a whole. A killed writer leaves a temporary.
inline constexpr std::array kReplacedFiles = {kJobYamlName, kSummaryName,
                                              kTimelineName};

// Returns the Status of an error of std::filesystem; OK if there is none.
inline absl::Status StatusOf(const std::error_code& error,
                             const std::filesystem::path& path) {
  return error ? ErrnoToStatus(error.value(), path.string()) : absl::OkStatus();
}

// Returns whether a run makes a file with this name in its folder. The record
// and the lock, see run_lock.h, are not among them.
inline bool IsRunFile(const std::string& name) {
  return name == kMetricsName || name == kDigestsName ||
         std::any_of(kReplacedFiles.begin(), kReplacedFiles.end(),
                     [&name](const char* made) {
                       return name == made || (absl::StartsWith(name, made) &&
                                               IsTemporaryName(name));
                     });
}

// Returns whether a killed writer leaves a file with this name among the
// checkpoints.
inline bool IsCheckpointLeftover(const std::string& name) {
  return name == kNextBestName || ((absl::StartsWith(name, "epoch-") ||
                                    absl::StartsWith(name, "best.")) &&
                                   IsTemporaryName(name));
}

// Returns whether a run makes a file with this name among the checkpoints.
inline bool IsCheckpointFile(const std::string& name) {
  return name == kBestCheckpointName || IsCheckpointLeftover(name) ||
         CheckpointAge::FromName(name).has_value();
}

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_FILES_H_
