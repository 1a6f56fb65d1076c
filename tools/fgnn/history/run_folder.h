// Finds the folder with a job's results.
#ifndef FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_
#define FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace fgnn {

// `run` is a run's folder (it holds job.yaml), or names a job: by its id, a
// unique part of it, its name, or "last". Jobs are looked up in the service
// that runs in `state_dir`, or in its job store, or in its folder runs/.
// NotFound; InvalidArgument: the word names more than one job.
absl::StatusOr<std::filesystem::path> FindRunFolder(
    const std::string& run, const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_HISTORY_RUN_FOLDER_H_
