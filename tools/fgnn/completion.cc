#include "tools/fgnn/completion.h"

#include <vector>

namespace fgnn {
namespace {

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Flags of a command itself, one word each: "--json --state-dir".
std::string Flags(const CLI::App& app, bool only_with_value) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    if (only_with_value && option->get_items_expected_min() == 0) continue;
    for (const std::string& name : option->get_lnames()) {
      words += " --" + name;
    }
  }
  return words;
}

bool TakesWords(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) return true;
  }
  return false;
}

// A line of `case` per command: its path, what may follow, and the flags that
// take a value.
void AddCases(const CLI::App& app, const std::string& path,
              const std::string& global_flags, std::string& cases) {
  std::string words;
  for (const CLI::App* sub : SubcommandsOf(app)) {
    words += " " + sub->get_name();
  }
  cases += "    '" + path + "') words='" + words + Flags(app, false) +
           (app.get_parent() == nullptr ? "" : global_flags) +
           "' files=" + (TakesWords(app) ? "yes" : "no") + " ;;\n";
  for (const CLI::App* sub : SubcommandsOf(app)) {
    AddCases(*sub, path + " " + sub->get_name(), global_flags, cases);
  }
}

void AddPaths(const CLI::App& app, const std::string& path,
              std::string& paths) {
  for (const CLI::App* sub : SubcommandsOf(app)) {
    const std::string sub_path = path + " " + sub->get_name();
    paths += "'" + sub_path + "'|";
    AddPaths(*sub, sub_path, paths);
  }
}

void AddFlagsWithValue(const CLI::App& app, std::string& flags) {
  flags += Flags(app, true);
  for (const CLI::App* sub : SubcommandsOf(app)) {
    AddFlagsWithValue(*sub, flags);
  }
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string cases;
  AddCases(app, name, Flags(app, false), cases);
  std::string paths;
  AddPaths(app, name, paths);
  if (!paths.empty()) paths.pop_back();
  std::string with_value;
  AddFlagsWithValue(app, with_value);
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
