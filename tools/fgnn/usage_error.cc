// Finds the word of a command line that the parser could not place. CLI11
// reports "a subcommand is required" for a misspelt command, so the words are
// walked again.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_join.h"
#include "shared/base/nearest.h"
#include "shared/config/job_field_path.h"
#include "tools/fgnn/command_line.h"

namespace fgnn {
namespace {

// Looks in the command and, as flags may stand behind a subcommand, in those
// above it.
std::optional<Option> FindFlag(std::optional<Command> command,
                               const std::string& flag) {
  for (; command.has_value(); command = command->Parent()) {
    if (const auto option = command->FindOption(flag)) return option;
  }
  return std::nullopt;
}

std::vector<std::string> FlagsOf(std::optional<Command> command) {
  std::vector<std::string> flags;
  for (; command.has_value(); command = command->Parent()) {
    for (const Option& option : command->Options()) {
      for (const std::string& name : option.LongNames()) {
        flags.push_back("--" + name);
      }
      for (const std::string& name : option.ShortNames()) {
        flags.push_back("-" + name);
      }
    }
  }
  return flags;
}

std::vector<std::string> SubcommandsOf(Command command) {
  std::vector<std::string> names;
  for (const Command& sub : command.Subcommands()) names.push_back(sub.Name());
  return names;
}

std::string Unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& known,
                    const std::string& otherwise) {
  const std::string nearest = NearestWord(word, known);
  return "unknown " + kind + " '" + word + "'; " +
         (nearest.empty() ? otherwise : "did you mean '" + nearest + "'?");
}

// Returns how to write a job's field that the user gave as a flag; empty: it is
// none, or the command takes no job's fields.
std::string FieldHint(Command command, const std::string& flag) {
  if (!command.FindOption("--set").has_value() || flag.rfind("--", 0) != 0) {
    return "";
  }
  std::string name = flag.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string path = JobFieldPath(name);
  if (path.empty()) return "";
  return "unknown flag '" + flag + "'; a job's fields are set by '--set " +
         path + "=VALUE'";
}

size_t NumArguments(Command command) {
  size_t count = 0;
  for (const Option& option : command.Options()) {
    if (option.IsArgument()) {
      count += static_cast<size_t>(std::max(option.MostWords(), 0));
    }
  }
  return count;
}

bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         !(word[1] >= '0' && word[1] <= '9');
}

// Describes the first word that has no place; nullopt: every word has one.
std::optional<std::string> FindUnplacedWord(
    Command root, const std::vector<std::string>& args) {
  Command command = root;
  size_t arguments_left = NumArguments(root);
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") return std::nullopt;
    if (IsFlag(word)) {
      const std::string flag = word.substr(0, word.find('='));
      const std::optional<Option> option = FindFlag(command, flag);
      if (!option.has_value()) {
        const std::string hint = FieldHint(command, flag);
        if (!hint.empty()) return hint;
        return Unknown("flag", flag, FlagsOf(command),
                       "see '" + command.Path() + " --help'");
      }
      const int values = option->LeastWords();
      if (word == flag && values > 0) i += static_cast<size_t>(values);
      continue;
    }
    if (const std::optional<Command> sub = command.Subcommand(word)) {
      command = *sub;
      arguments_left = NumArguments(command);
      continue;
    }
    if (arguments_left > 0) {
      --arguments_left;
      continue;
    }
    const std::vector<std::string> known = SubcommandsOf(command);
    if (known.empty()) {
      return "'" + word + "' is one word too many; see '" + command.Path() +
             " --help'";
    }
    return Unknown(
        "command", word, known,
        "'" + command.Path() + "' has " + absl::StrJoin(known, ", "));
  }
  const std::vector<std::string> known = SubcommandsOf(command);
  if (!known.empty() && NumArguments(command) == 0) {
    return "'" + command.Path() + "' needs one of " +
           absl::StrJoin(known, ", ");
  }
  return std::nullopt;
}

}  // namespace

std::string DescribeUsageError(Command root,
                               const std::vector<std::string>& args,
                               const std::string& error) {
  if (const auto unplaced = FindUnplacedWord(root, args)) return *unplaced;
  std::string message = error;
  std::replace(message.begin(), message.end(), '\n', ' ');
  Command named = root;
  while (const auto chosen = named.Chosen()) named = *chosen;
  return message + "; see '" + named.Path() + " --help'";
}

}  // namespace fgnn
