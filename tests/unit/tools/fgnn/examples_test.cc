#include "tools/fgnn/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/fakes/status_matchers.h"
#include "tools/fgnn/command_line.h"

namespace fgnn {
namespace {

// Calls `visit` for the command and for all below it.
void ForEach(Command command, const std::function<void(Command)>& visit) {
  visit(command);
  for (const Command& sub : command.Subcommands()) ForEach(sub, visit);
}

constexpr char kParsed[] = "all words have a place";

// Parses the words, but runs no command. Returns "" or what is wrong.
std::string ErrorIn(const std::vector<std::string>& words) {
  CommandContext context;
  const auto line = MakeCommandLine(context);
  line->CheckFirst([] { return absl::InvalidArgumentError(kParsed); });
  const std::string said(line->Parse(words).status().message());
  return said == kParsed ? "" : said;
}

std::vector<std::string> PathsOfAllCommands() {
  CommandContext context;
  const auto line = MakeCommandLine(context);
  std::vector<std::string> paths;
  ForEach(line->root(),
          [&paths](Command command) { paths.push_back(command.Path()); });
  return paths;
}

TEST(ExamplesTest, EveryCommandsHelpEndsWithOneThatParses) {
  const std::vector<std::string> paths = PathsOfAllCommands();
  EXPECT_GT(paths.size(), 40U);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string example = ExampleOf(path);
    EXPECT_TRUE(absl::StartsWith(example, path)) << example;
    std::vector<std::string> words = absl::StrSplit(example, ' ');
    words.erase(words.begin());  // "fgnn"
    EXPECT_EQ(ErrorIn(words), "");

    CommandContext context;
    const auto line = MakeCommandLine(context);
    words = absl::StrSplit(path, ' ');
    words.erase(words.begin());
    words.emplace_back("--help");
    const absl::StatusOr<std::string> help = line->Parse(words);
    ASSERT_THAT(help, IsOk());
    EXPECT_TRUE(absl::EndsWith(*help, "\nExample:\n  " + example + "\n"))
        << *help;
  }
}

TEST(ExamplesTest, HelpSaysWhatTheFlagSays) {
  const auto print = [](const std::vector<std::string>& words) {
    CommandContext context;
    const auto line = MakeCommandLine(context);
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunCommandLine(*line, context, words), 0);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(print({"help", "dataset", "import", "csv"}),
            print({"dataset", "import", "csv", "--help"}));
  EXPECT_EQ(print({"help", "run"}), print({"run", "--help"}));
  EXPECT_EQ(print({"help"}), print({"--help"}));
}

}  // namespace
}  // namespace fgnn
