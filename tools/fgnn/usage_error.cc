// Finds the word of a command line that the parser could not place. CLI11 says
// "a subcommand is required" where a command is misspelt, so the words are
// walked again.
#include <cstddef>
#include <optional>

#include "shared/base/nearest.h"
#include "tools/fgnn/command_line.h"

namespace fgnn {
namespace {

std::string PathOf(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return PathOf(*app.get_parent()) + " " + app.get_name();
}

const CLI::App* FindSubcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->check_name(name)) return sub;
  }
  return nullptr;
}

// In `app` or, since flags fall through, above it.
const CLI::Option* FindFlag(const CLI::App* app, const std::string& flag) {
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(flag)) {
      return option;
    }
  }
  return nullptr;
}

std::vector<std::string> FlagsOf(const CLI::App* app) {
  std::vector<std::string> flags;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        flags.push_back("--" + name);
      }
      for (const std::string& name : option->get_snames()) {
        flags.push_back("-" + name);
      }
    }
  }
  return flags;
}

std::vector<std::string> SubcommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    joined += (joined.empty() ? "" : ", ") + word;
  }
  return joined;
}

std::string Unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& known,
                    const std::string& otherwise) {
  const std::string nearest = NearestWord(word, known);
  return "unknown " + kind + " '" + word + "'; " +
         (nearest.empty() ? otherwise : "did you mean '" + nearest + "'?");
}

size_t NumPositionals(const CLI::App& app) {
  size_t count = 0;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const int most = option->get_items_expected_max();
    count += static_cast<size_t>(most < 0 ? 0 : most);
  }
  return count;
}

bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         !(word[1] >= '0' && word[1] <= '9');
}

// The first word that has no place, described; nullopt: every one has.
std::optional<std::string> FindUnplacedWord(
    const CLI::App& root, const std::vector<std::string>& args) {
  const CLI::App* app = &root;
  size_t positionals_left = NumPositionals(root);
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") return std::nullopt;
    if (IsFlag(word)) {
      const std::string flag = word.substr(0, word.find('='));
      const CLI::Option* option = FindFlag(app, flag);
      if (option == nullptr) {
        return Unknown("flag", flag, FlagsOf(app),
                       "see '" + PathOf(*app) + " --help'");
      }
      const int values = option->get_items_expected_min();
      if (word == flag && values > 0) i += static_cast<size_t>(values);
      continue;
    }
    if (const CLI::App* sub = FindSubcommand(*app, word)) {
      app = sub;
      positionals_left = NumPositionals(*app);
      continue;
    }
    if (positionals_left > 0) {
      --positionals_left;
      continue;
    }
    const std::vector<std::string> known = SubcommandsOf(*app);
    if (known.empty()) {
      return "'" + word + "' is one word too many; see '" + PathOf(*app) +
             " --help'";
    }
    return Unknown("command", word, known,
                   "'" + PathOf(*app) + "' has " + Join(known));
  }
  const std::vector<std::string> known = SubcommandsOf(*app);
  if (!known.empty() && NumPositionals(*app) == 0) {
    return "'" + PathOf(*app) + "' needs one of " + Join(known);
  }
  return std::nullopt;
}

}  // namespace

std::string DescribeUsageError(const CLI::App& app,
                               const std::vector<std::string>& args,
                               const CLI::ParseError& error) {
  if (const auto unplaced = FindUnplacedWord(app, args)) return *unplaced;
  std::string message = error.what();
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  const CLI::App* named = &app;
  while (!named->get_subcommands().empty()) {
    named = named->get_subcommands().front();
  }
  return message + "; see '" + PathOf(*named) + " --help'";
}

}  // namespace fgnn
