// Finds the folder with a job's results.
#ifndef FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_
#define FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace fgnn {

struct FoundRun {
  std::filesystem::path folder;  // Absolute.
  // The job's name, or else its id; the name of a folder that was given.
  std::string name;
};

// `run` is a run's folder (it holds job.yaml), or names a job: by its id, a
// unique part of it, its name, or "last". Jobs are looked up in the service
// that runs in `state_dir`, or in its job store, or in its folder runs/.
// NotFound; InvalidArgument: the word names more than one job.
absl::StatusOr<FoundRun> FindRun(const std::string& run,
                                 const std::filesystem::path& state_dir);

// Finds the folder alone.
absl::StatusOr<std::filesystem::path> FindRunFolder(
    const std::string& run, const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_
