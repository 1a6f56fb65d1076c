#include "shared/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// fgnn-test [--json] make THING [--size N] [--parts a,b] [--kind x|y]
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() : line_("Makes things", "fgnn-test") {
    line_.SetVersion("fgnn-test 1.2.3");
    const Command root = line_.root();
    root.AddFlag("--json", json_, "Print JSON");
    const Command make = root.AddSubcommand("make", "Make a thing");
    make.AddOption("THING", thing_, "What to make").Required();
    size_option_ = make.AddOption("--size", size_, "How large")
                       .Between(uint32_t{1}, uint32_t{10})
                       .ShowDefault();
    make.AddOption("--parts", parts_, "Its parts").SplitAt(',').Takes("LIST");
    make.AddOption("--kind", kind_, "Its kind").OneOf({"x", "y"});
    make.AddFlag("!--no-paint", paint_, "Leave it unpainted");
    make.OnRun([this] { ++runs_; });
    root.AddSubcommand("end", "End by an exception").OnRun([] {
      throw std::runtime_error("words");
    });
  }

  absl::Status Parse(std::vector<std::string> words) {
    return line_.Parse(std::move(words)).status();
  }

  // Exit code of a main with these words; what it printed: out_, err_.
  std::optional<int> Main(std::vector<std::string> words) {
    words.insert(words.begin(), "fgnn-test");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code =
        line_.ParseMain(static_cast<int>(argv.size()), argv.data());
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  CommandLine line_;
  bool json_ = false;
  bool paint_ = true;
  std::filesystem::path thing_;
  uint32_t size_ = 4;
  std::optional<std::string> kind_;
  std::vector<std::string> parts_;
  std::optional<Option> size_option_;
  int runs_ = 0;
  std::string out_;
  std::string err_;
};

TEST_F(CommandLineTest, FillsVariablesAndRunsTheCommand) {
  FGNN_ASSERT_OK(Parse({"make", "house", "--parts", "roof,wall", "--kind=y",
                        "--no-paint", "--size", "7"}));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(thing_, "house");
  EXPECT_EQ(size_, 7u);
  EXPECT_THAT(parts_, ElementsAre("roof", "wall"));
  EXPECT_EQ(kind_, "y");
  EXPECT_FALSE(paint_);
  EXPECT_FALSE(json_);
}

TEST_F(CommandLineTest, WhatIsNotGivenKeepsItsValue) {
  FGNN_ASSERT_OK(Parse({"make", "house"}));
  EXPECT_EQ(size_, 4u);
  EXPECT_THAT(parts_, IsEmpty());
  EXPECT_EQ(kind_, std::nullopt);
  EXPECT_TRUE(paint_);
}

TEST_F(CommandLineTest, FlagsOfTheProgramMayStandBehindACommand) {
  FGNN_ASSERT_OK(Parse({"make", "house", "--json"}));
  EXPECT_TRUE(json_);
}

TEST_F(CommandLineTest, WrongUseIsInvalidAndRunsNothing) {
  const std::vector<std::vector<std::string>> wrong = {
      {"make"},
      {"make", "house", "--size", "11"},
      {"make", "house", "--size", "many"},
      {"make", "house", "--kind", "z"},
      {"make", "house", "boat"},
      {"make", "house", "--colour", "red"},
      {"break", "house"}};
  for (const auto& words : wrong) {
    EXPECT_EQ(Parse(words).code(), absl::StatusCode::kInvalidArgument)
        << testing::PrintToString(words);
  }
  EXPECT_EQ(runs_, 0);
}

TEST_F(CommandLineTest, NeedsAndExcludesAreChecked) {
  bool fast = false;
  std::string speed;
  const Command go = line_.root().AddSubcommand("go", "Go");
  const Option fast_option = go.AddFlag("--fast", fast, "Fast");
  go.AddOption("--by", speed, "Speed").Needs(fast_option);
  go.AddFlag("--slowly", "As it goes anyway").Excludes(fast_option);
  EXPECT_FALSE(Parse({"go", "--by", "3"}).ok());
  EXPECT_FALSE(Parse({"go", "--fast", "--slowly"}).ok());
  FGNN_ASSERT_OK(Parse({"go", "--fast", "--by", "3"}));
  FGNN_ASSERT_OK(Parse({"go", "--slowly"}));
}

TEST_F(CommandLineTest, AListOfOneWordEachLeavesArguments) {
  std::vector<std::string> settings;
  std::string file;
  const Command run = line_.root().AddSubcommand("run", "Run");
  run.AddOption("--set", settings, "A setting").OneWordEach();
  run.AddOption("FILE", file, "A file").Required();
  FGNN_ASSERT_OK(Parse({"run", "--set", "a=1", "--set", "b=2", "job.yaml"}));
  EXPECT_THAT(settings, ElementsAre("a=1", "b=2"));
  EXPECT_EQ(file, "job.yaml");
}

TEST_F(CommandLineTest, TheFirstCheckComesBeforeTheCommand) {
  line_.CheckFirst([] { return absl::NotFoundError("no folder"); });
  const absl::Status status = Parse({"make", "house"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no folder"));
  EXPECT_EQ(runs_, 0);
}

TEST_F(CommandLineTest, HelpAndVersionAreTexts) {
  const auto version = line_.Parse({"--version"});
  FGNN_ASSERT_OK(version.status());
  EXPECT_EQ(*version, "fgnn-test 1.2.3\n");
  const auto help = line_.Parse({"make", "--help"});
  FGNN_ASSERT_OK(help.status());
  EXPECT_THAT(*help, HasSubstr("Make a thing"));
  EXPECT_THAT(*help, HasSubstr("--parts LIST"));
  EXPECT_THAT(*help, HasSubstr("[1 - 10]=4"));
  EXPECT_EQ(runs_, 0);
}

TEST_F(CommandLineTest, WhatACommandThrowsIsPassedOn) {
  EXPECT_THROW((void)line_.Parse({"end"}), std::runtime_error);
}

TEST_F(CommandLineTest, AMainGoesOnUnlessItsWordsEndIt) {
  EXPECT_EQ(Main({"make", "house"}), std::nullopt);
  EXPECT_EQ(out_ + err_, "");
  EXPECT_EQ(Main({"--version"}), 0);
  EXPECT_EQ(out_, "fgnn-test 1.2.3\n");
  EXPECT_EQ(Main({"make", "house", "--size", "0"}), 2);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, HasSubstr("fgnn-test: --size: "));
  EXPECT_THAT(err_, HasSubstr("; see --help\n"));
}

TEST_F(CommandLineTest, CommandsAndOptionsTellWhatTheyAre) {
  const auto make = line_.root().Subcommand("make");
  ASSERT_TRUE(make.has_value());
  EXPECT_EQ(make->Path(), "fgnn-test make");
  EXPECT_EQ(make->Help(), "Make a thing");
  EXPECT_EQ(make->Parent()->Name(), "fgnn-test");
  EXPECT_EQ(line_.root().Parent(), std::nullopt);
  EXPECT_EQ(line_.root().Subcommand("mak"), std::nullopt);
  const auto thing = make->FindOption("THING");
  ASSERT_TRUE(thing.has_value());
  EXPECT_TRUE(thing->IsArgument());
  EXPECT_TRUE(thing->IsRequired());
  EXPECT_THAT(size_option_->LongNames(), ElementsAre("size"));
  EXPECT_EQ(size_option_->LeastWords(), 1);
  EXPECT_EQ(make->FindOption("--json"), std::nullopt);
  EXPECT_EQ(line_.root().FindOption("--json")->LeastWords(), 0);
  EXPECT_EQ(line_.root().Chosen(), std::nullopt);
  FGNN_ASSERT_OK(Parse({"make", "house"}));
  EXPECT_TRUE(make->IsChosen());
  EXPECT_EQ(line_.root().Chosen()->Name(), "make");
}

}  // namespace
}  // namespace fgnn
