// completion bash.
#include "tools/fgnn/completion.h"

#include <iostream>

#include "tools/fgnn/commands/commands.h"

namespace fgnn {

void AddCompletionCommand(Command app, CommandContext& context) {
  const Command completion = app.AddSubcommand(
      "completion", "Completion for a shell: source <(fgnn completion bash)");
  context.places["completion"] = CommandPlace::kWithoutService;
  completion.NeedSubcommand();
  completion.AddSubcommand("bash", "The script for bash").OnRun([app] {
    std::cout << BashCompletion(app);
  });
}

}  // namespace fgnn
