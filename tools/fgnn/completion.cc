#include "tools/fgnn/completion.h"

#include "absl/algorithm/container.h"

namespace fgnn {
namespace {

// Returns the flags of a command itself, one word each: "--json --state-dir".
std::string Flags(Command command, bool only_with_value) {
  std::string words;
  for (const Option& option : command.Options()) {
    if (only_with_value && option.LeastWords() == 0) continue;
    for (const std::string& name : option.LongNames()) {
      words += " --" + name;
    }
  }
  return words;
}

bool TakesWords(Command command) {
  return absl::c_any_of(command.Options(), [](const Option& option) {
    return option.IsArgument();
  });
}

// Adds a line of `case` per command: its path, what may follow, and the flags
// that take a value.
void AddCases(Command command, const std::string& global_flags,
              std::string& cases) {
  std::string words;
  for (const Command& sub : command.Subcommands()) words += " " + sub.Name();
  cases += "    '" + command.Path() + "') words='" + words +
           Flags(command, false) +
           (command.Parent().has_value() ? global_flags : "") +
           "' files=" + (TakesWords(command) ? "yes" : "no") + " ;;\n";
  for (const Command& sub : command.Subcommands()) {
    AddCases(sub, global_flags, cases);
  }
}

void AddPaths(Command command, std::string& paths) {
  for (const Command& sub : command.Subcommands()) {
    paths += "'" + sub.Path() + "'|";
    AddPaths(sub, paths);
  }
}

void AddFlagsWithValue(Command command, std::string& flags) {
  flags += Flags(command, true);
  for (const Command& sub : command.Subcommands()) {
    AddFlagsWithValue(sub, flags);
  }
}

}  // namespace

std::string BashCompletion(Command root) {
  const std::string name = root.Name();
  std::string cases;
  AddCases(root, Flags(root, false), cases);
  std::string paths;
  AddPaths(root, paths);
  if (!paths.empty()) paths.pop_back();
  std::string with_value;
  AddFlagsWithValue(root, with_value);
  const std::string function = "_" + name + "_complete";
  return "# Bash completion of " + name + "; load it with\n" + "#   source <(" +
         name + " completion bash)\n" + function + "() {\n" +
         "  local word=${COMP_WORDS[COMP_CWORD]} path=" + name +
         " words= files=no i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in\n"
         "    " +
         paths +
         ") path=\"$path ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  case \"" +
         with_value +
         " \" in\n"
         "    *\" ${COMP_WORDS[COMP_CWORD-1]} \"*) words= files=yes ;;\n"
         "  esac\n"
         "  COMPREPLY=()\n"
         "  [[ -n $words ]] && COMPREPLY=($(compgen -W \"$words\" -- "
         "\"$word\"))\n"
         "  [[ $files == yes && $word != -* ]] && compopt -o default\n"
         "  return 0\n"
         "}\n"
         "complete -F " +
         function + " " + name + "\n";
}

}  // namespace fgnn
