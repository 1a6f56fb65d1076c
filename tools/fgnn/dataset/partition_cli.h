// fgnn dataset partition DIR.
#ifndef FGNN_TOOLS_FGNN_DATASET_PARTITION_CLI_H_
#define FGNN_TOOLS_FGNN_DATASET_PARTITION_CLI_H_

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// Adds the command to `dataset`; see AddDatasetCommands() for `json` and
// `status`.
void AddPartitionCommand(Command dataset, const bool& json,
                         absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_PARTITION_CLI_H_
