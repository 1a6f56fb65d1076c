// `fgnn dataset generate rmat|sbm`. Part of AddDatasetCommands().
#ifndef FGNN_TOOLS_FGNN_DATASET_GENERATE_CLI_H_
#define FGNN_TOOLS_FGNN_DATASET_GENERATE_CLI_H_

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// As AddDatasetCommands().
void AddGenerateCommands(Command dataset, const bool& json,
                         absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_GENERATE_CLI_H_
