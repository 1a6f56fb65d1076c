// help: explains a command as its --help does.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/nearest.h"
#include "tools/fgnn/commands/commands.h"

namespace fgnn {
namespace {

absl::Status NoSuchCommand(Command group, const std::string& word) {
  std::vector<std::string> known;
  for (const Command& sub : group.Subcommands()) known.push_back(sub.Name());
  const std::string nearest = NearestWord(word, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown command '", word, "'; ",
      nearest.empty() ? absl::StrCat("see '", group.Path(), " --help'")
                      : absl::StrCat("did you mean '", nearest, "'?")));
}

absl::Status Help(Command app, const std::vector<std::string>& words) {
  Command command = app;
  for (const std::string& word : words) {
    const std::optional<Command> sub = command.Subcommand(word);
    if (!sub.has_value()) return NoSuchCommand(command, word);
    command = *sub;
  }
  std::cout << command.HelpText();
  return absl::OkStatus();
}

}  // namespace

void AddHelpCommand(Command app, CommandContext& context) {
  const Command help =
      app.AddSubcommand("help", "Explain a command, as its --help does");
  context.places["help"] = CommandPlace::kWithoutService;
  const auto words = std::make_shared<std::vector<std::string>>();
  help.AddOption("COMMAND", *words, "The command's words").Takes("WORD");
  help.OnRun([app, words, &context] { context.status = Help(app, *words); });
}

}  // namespace fgnn
