// A program's commands, flags and arguments. The header hides the parser:
// including CLI11's headers costs a command six seconds of compiling.
#ifndef FGNN_SHARED_COMMAND_LINE_COMMAND_LINE_H_
#define FGNN_SHARED_COMMAND_LINE_COMMAND_LINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fgnn {

// A flag ("--seed") or an argument ("JOB") of a command. An Option is a handle:
// its copies mean the same option, and are valid as long as the CommandLine is.
class Option {
 public:
  // Sets the word that stands for the value in help, e.g. DIR.
  Option Takes(const std::string& word) const;
  Option Required() const;
  // Help shows the variable's present value, or `text`, as the default.
  Option ShowDefault() const;
  Option ShowDefault(const std::string& text) const;
  Option OneOf(const std::vector<std::string>& words) const;
  // Limits the value; both bounds are included. T: int, uint32_t, uint64_t,
  // double.
  template <typename T>
  Option Between(T least, T most) const;
  // The value is a list, e.g. "a,b,c" for ','.
  Option SplitAt(char delimiter) const;
  // Makes the option a list that takes one word each time the flag is given, so
  // that arguments may follow.
  Option OneWordEach() const;
  // The option may be given only with (Needs) or only without (Excludes) the
  // other.
  Option Needs(Option other) const;
  Option Excludes(Option other) const;

  bool IsArgument() const;
  bool IsRequired() const;
  std::string Word() const;  // The word of Takes(), e.g. "DIR".
  std::vector<std::string> LongNames() const;   // "json" of "--json"
  std::vector<std::string> ShortNames() const;  // "h" of "-h"
  // Returns the least and the most words that the option takes behind its name,
  // or in its place. A list takes many.
  int LeastWords() const;
  int MostWords() const;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

// A command ("run") or a group of commands ("dataset"). A handle, like Option.
class Command {
 public:
  Command AddSubcommand(const std::string& name, const std::string& help) const;
  // Requires that one of the subcommands is named.
  void NeedSubcommand() const;
  // Sets text with which the command's help ends.
  void SetFooter(const std::string& text) const;
  // `run` is called while the words are parsed, if they name this command.
  void OnRun(std::function<void()> run) const;

  // Adds an option. `names`: "--out", "-h,--help", or "JOB" for an argument.
  // The variable keeps its value if the option is not given; it must outlive
  // the CommandLine. T: an integer of 32 or 64 bits, float, double,
  // std::string, std::filesystem::path, or std::optional or std::vector of some
  // of them (command_line.cc has the list).
  template <typename T>
  Option AddOption(const std::string& names, T& variable,
                   const std::string& help = "") const;
  // Adds an option whose value is passed to `take`.
  Option AddOption(const std::string& names,
                   std::function<void(const std::string&)> take,
                   const std::string& help) const;
  // Adds a flag: "--json" sets the variable to true, "!--no-json" to false.
  Option AddFlag(const std::string& names, bool& variable,
                 const std::string& help = "") const;
  // Adds a flag that asks for what is done anyway.
  Option AddFlag(const std::string& names, const std::string& help) const;

  std::string Name() const;
  std::string Path() const;      // "fgnn bench sample"
  std::string Help() const;      // The text that AddSubcommand() was given.
  std::string HelpText() const;  // The text that --help prints.
  std::optional<Command> Parent() const;
  std::vector<Command> Subcommands() const;
  std::optional<Command> Subcommand(const std::string& name) const;
  std::vector<Option> Options() const;
  // Returns the option of this name: "--json", "-h" or "JOB".
  std::optional<Option> FindOption(const std::string& flag) const;
  // Returns the subcommand that the parsed words named.
  std::optional<Command> Chosen() const;
  bool IsChosen() const;

 private:
  friend class CommandLine;
  explicit Command(CLI::App* app) : app_(app) {}

  CLI::App* app_;
};

// The words of a program's call. Flags of a command may stand behind the names
// of its subcommands. Every command has -h and --help.
class CommandLine {
 public:
  explicit CommandLine(const std::string& help, const std::string& name = "");
  ~CommandLine();

  Command root() const { return Command(app_.get()); }
  // Adds --version.
  void SetVersion(const std::string& text);
  // `check` is called after parsing and before the command runs. Its error
  // counts as wrong use.
  void CheckFirst(std::function<absl::Status()> check);

  // Parses `words`, without the program's name, and runs the command that they
  // name. Returns the text that they ask for (help, version), else "".
  // InvalidArgument: wrong use, in the parser's words. An exception that a
  // command throws is passed on.
  absl::StatusOr<std::string> Parse(std::vector<std::string> words);
  // Parse() for a main function: prints the text or, to standard error, the
  // wrong use. Returns the exit code (0 or 2) if the program is over.
  std::optional<int> ParseMain(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_COMMAND_LINE_COMMAND_LINE_H_
