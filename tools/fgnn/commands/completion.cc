// completion bash.
#include "tools/fgnn/completion.h"

#include <iostream>

#include "tools/fgnn/commands/commands.h"

namespace fgnn {

void AddCompletionCommand(CLI::App& app, CommandContext&) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Completion for a shell: source <(fgnn completion bash)");
  completion->require_subcommand(1);
  completion->add_subcommand("bash", "The script for bash")->callback([&app] {
    std::cout << BashCompletion(app);
  });
}

}  // namespace fgnn
