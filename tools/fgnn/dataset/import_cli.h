// fgnn dataset import KIND SOURCE --out DIR.
#ifndef FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_
#define FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// Adds a subcommand per kind to `import_app`. One that was chosen runs while
// the command line is parsed: progress to standard error, the totals to
// standard output (one document if `json`), its outcome to `status`. `json`
// and `status` must live until the parsing is over.
void AddImportCommands(Command import_app, const bool& json,
                       absl::Status& status);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_IMPORT_CLI_H_
