#include "shared/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>

#include "shared/base/status.h"

namespace fgnn {

constexpr int kWrongUse = 2;

Option Option::Takes(const std::string& word) const {
  option_->type_name(word);
  return *this;
}

Option Option::Required() const {
  option_->required();
  return *this;
}

Option Option::ShowDefault() const {
  option_->capture_default_str();
  return *this;
}

Option Option::ShowDefault(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

Option Option::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

template <typename T>
Option Option::Between(T least, T most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

template Option Option::Between(int, int) const;
template Option Option::Between(uint32_t, uint32_t) const;
template Option Option::Between(uint64_t, uint64_t) const;
template Option Option::Between(double, double) const;

Option Option::SplitAt(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Option Option::OneWordEach() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::Needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::Excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

bool Option::IsArgument() const { return option_->get_positional(); }

bool Option::IsRequired() const { return option_->get_required(); }

std::string Option::Word() const {
  const std::string name = option_->get_type_name();
  return name.substr(0, name.find(':'));  // What is allowed stands behind.
}

std::vector<std::string> Option::LongNames() const {
  return option_->get_lnames();
}

std::vector<std::string> Option::ShortNames() const {
  return option_->get_snames();
}

int Option::LeastWords() const { return option_->get_items_expected_min(); }

int Option::MostWords() const { return option_->get_items_expected_max(); }

Command Command::AddSubcommand(const std::string& name,
                               const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

void Command::NeedSubcommand() const { app_->require_subcommand(1); }

void Command::SetFooter(const std::string& text) const { app_->footer(text); }

void Command::OnRun(std::function<void()> run) const {
  app_->callback(std::move(run));
}

template <typename T>
Option Command::AddOption(const std::string& names, T& variable,
                          const std::string& help) const {
  return Option(app_->add_option(names, variable, help));
}

#define FGNN_OPTION(...)                                               \
  template Option Command::AddOption(const std::string&, __VA_ARGS__&, \
                                     const std::string&) const
FGNN_OPTION(int32_t);
FGNN_OPTION(int64_t);
FGNN_OPTION(uint32_t);
FGNN_OPTION(uint64_t);
FGNN_OPTION(float);
FGNN_OPTION(double);
FGNN_OPTION(std::string);
FGNN_OPTION(std::filesystem::path);
FGNN_OPTION(std::optional<uint32_t>);
FGNN_OPTION(std::optional<uint64_t>);
FGNN_OPTION(std::optional<double>);
FGNN_OPTION(std::optional<std::string>);
FGNN_OPTION(std::vector<int32_t>);
FGNN_OPTION(std::vector<uint32_t>);
FGNN_OPTION(std::vector<double>);
FGNN_OPTION(std::vector<std::string>);
#undef FGNN_OPTION

Option Command::AddOption(const std::string& names,
                          std::function<void(const std::string&)> take,
                          const std::string& help) const {
  return Option(
      app_->add_option_function<std::string>(names, std::move(take), help));
}

Option Command::AddFlag(const std::string& names, bool& variable,
                        const std::string& help) const {
  return Option(app_->add_flag(names, variable, help));
}

Option Command::AddFlag(const std::string& names,
                        const std::string& help) const {
  return Option(app_->add_flag(names, help));
}

std::string Command::Name() const { return app_->get_name(); }

std::string Command::Path() const {
  const std::optional<Command> parent = Parent();
  return parent.has_value() ? parent->Path() + " " + Name() : Name();
}

std::string Command::Help() const { return app_->get_description(); }

// App::help() of a group explains the subcommand that was parsed.
std::string Command::HelpText() const {
  return app_->get_formatter()->make_help(app_, Path(),
                                          CLI::AppFormatMode::Normal);
}

std::optional<Command> Command::Parent() const {
  if (app_->get_parent() == nullptr) return std::nullopt;
  return Command(app_->get_parent());
}

std::vector<Command> Command::Subcommands() const {
  std::vector<Command> commands;
  for (CLI::App* const app :
       app_->get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(Command(app));
  }
  return commands;
}

std::optional<Command> Command::Subcommand(const std::string& name) const {
  for (const Command& command : Subcommands()) {
    if (command.Name() == name) return command;
  }
  return std::nullopt;
}

std::vector<Option> Command::Options() const {
  std::vector<Option> options;
  for (CLI::Option* const option : app_->get_options()) {
    options.push_back(Option(option));
  }
  return options;
}

std::optional<Option> Command::FindOption(const std::string& flag) const {
  CLI::Option* const option = app_->get_option_no_throw(flag);
  if (option == nullptr) return std::nullopt;
  return Option(option);
}

std::optional<Command> Command::Chosen() const {
  const std::vector<CLI::App*> chosen = app_->get_subcommands();
  if (chosen.empty()) return std::nullopt;
  return Command(chosen.front());
}

bool Command::IsChosen() const { return app_->parsed(); }

CommandLine::CommandLine(const std::string& help, const std::string& name)
    : app_(std::make_unique<CLI::App>(help, name)) {
  // Commands that are added later inherit both settings.
  app_->fallthrough();
  app_->set_help_flag("-h,--help", "Explain a command and its flags");
}

CommandLine::~CommandLine() = default;

void CommandLine::SetVersion(const std::string& text) {
  app_->set_version_flag("--version", text, "Print the version");
}

void CommandLine::CheckFirst(std::function<absl::Status()> check) {
  app_->parse_complete_callback([check = std::move(check)] {
    const absl::Status status = check();
    if (!status.ok()) throw CLI::ValidationError(MessageOf(status));
  });
}

absl::StatusOr<std::string> CommandLine::Parse(std::vector<std::string> words) {
  try {
    // CLI11 takes words from the back of the list.
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& asked_for_text) {
    std::ostringstream text;
    app_->exit(asked_for_text, text, text);
    return text.str();
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return std::string();
}

std::optional<int> CommandLine::ParseMain(int argc, char** argv) {
  if (app_->get_name().empty() && argc > 0) {
    app_->name(std::filesystem::path(argv[0]).filename().string());
  }
  const absl::StatusOr<std::string> text =
      Parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (!text.ok()) {
    std::cerr << app_->get_name() << ": " << MessageOf(InOneLine(text.status()))
              << "; see --help\n";
    return kWrongUse;
  }
  if (text->empty()) return std::nullopt;
  std::cout << *text;
  return 0;
}

}  // namespace fgnn
