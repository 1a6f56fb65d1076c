// Where a member has the dataset of a job.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_MEMBER_DATASET_H_
#define FGNN_SCHEDULER_RUN_HOSTS_MEMBER_DATASET_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "scheduler/files/access/path_rules.h"

namespace fgnn {

// Returns the folder of a job's dataset on this host: `dataset`, which is the
// head's path, if it is there and lies in a root; else the folder of that name
// in the first root that has one. Its contents are checked later. NotFound: the
// message names the paths and the flag.
absl::StatusOr<std::filesystem::path> FindDatasetHere(
    const PathRules& rules, const std::filesystem::path& dataset);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_MEMBER_DATASET_H_
