// dataset: mounts what tools/dataset offers.
#include "tools/dataset/dataset_cli.h"
#include "tools/dataset/import_cli.h"
#include "tools/fgnn/commands/commands.h"

namespace fgnn {

void AddDatasetGroup(CLI::App& app, CommandContext& context) {
  CLI::App* dataset =
      app.add_subcommand("dataset", "Make, look at and check dataset folders");
  dataset->require_subcommand(1);
  CLI::App* import = dataset->add_subcommand(
      "import", "Make a dataset folder from real input");
  import->require_subcommand(1);
  AddImportCommands(*import, context.json, context.status);
  AddDatasetCommands(*dataset, context.json, context.status);
}

}  // namespace fgnn
