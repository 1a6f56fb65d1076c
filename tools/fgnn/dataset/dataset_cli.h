// The commands generate, split-edges, info and validate of `fgnn dataset`.
#ifndef FGNN_TOOLS_FGNN_DATASET_DATASET_CLI_H_
#define FGNN_TOOLS_FGNN_DATASET_DATASET_CLI_H_

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// Adds the commands to `dataset`, the app of `fgnn dataset`. Each runs while
// the command line is parsed, and writes its result to `status`. The caller
// prints it and maps it to the exit code. `json` is read when a command runs:
// if it is true, a command that succeeds prints one JSON document on stdout.
// Progress and logs go to stderr. `json` and `status` must outlive `dataset`.
void AddDatasetCommands(Command dataset, const bool& json,
                        absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_DATASET_CLI_H_
