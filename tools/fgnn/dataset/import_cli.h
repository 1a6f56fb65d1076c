// fgnn dataset import KIND SOURCE --out DIR.
#ifndef FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_
#define FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// Adds a subcommand per kind to `import_app`. The chosen one runs while the
// command line is parsed. It prints progress to standard error and the totals
// to standard output (one document if `json`), and writes its result to
// `status`. `json` and `status` must live until the parsing is over.
void AddImportCommands(Command import_app, const bool& json,
                       absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_
