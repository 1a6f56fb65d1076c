// dataset: adds the commands of tools/fgnn/dataset.
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/dataset/dataset_cli.h"
#include "tools/fgnn/dataset/import_cli.h"

namespace fgnn {

void AddDatasetGroup(Command app, CommandContext& context) {
  const Command dataset =
      app.AddSubcommand("dataset", "Make, look at and check dataset folders");
  context.places["dataset"] = CommandPlace::kWithoutService;
  dataset.NeedSubcommand();
  const Command import =
      dataset.AddSubcommand("import", "Make a dataset folder from real input");
  import.NeedSubcommand();
  AddImportCommands(import, context.json, context.status);
  AddDatasetCommands(dataset, context.json, context.status);
}

}  // namespace fgnn
