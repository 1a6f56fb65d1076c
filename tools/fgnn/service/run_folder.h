// Finds the folder with a job's results.
#ifndef FGNN_TOOLS_FGNN_SERVICE_RUN_FOLDER_H_
#define FGNN_TOOLS_FGNN_SERVICE_RUN_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace fgnn {

// `run` is a run's folder (it holds job.yaml), a job's id, or the beginning of
// an id. Ids are looked up in the service that runs in `state_dir`; without a
// service, in its folder runs/. NotFound; InvalidArgument: more than one job's
// id begins so.
absl::StatusOr<std::filesystem::path> FindRunFolder(
    const std::string& run, const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_RUN_FOLDER_H_
