#include "tools/fgnn/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Answer {
  int exit_code;
  std::string out;
  std::string err;
};

// No command here reaches a service: the folder has none.
Answer Type(const std::vector<std::string>& args) {
  CommandContext context;
  context.place.state_dir = testing::TempDir() + "fgnn_no_such_state";
  context.default_state_dir = context.place.state_dir;
  const auto line = MakeCommandLine(context);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = RunCommandLine(*line, context, args);
  std::string out = testing::internal::GetCapturedStdout();
  return {exit_code, out, testing::internal::GetCapturedStderr()};
}

// Of a command that ends by an exception.
Answer Throw(const std::function<void()>& command) {
  CommandContext context;
  context.place.state_dir = testing::TempDir() + "fgnn_no_such_state";
  const auto line = MakeCommandLine(context);
  line->root().AddSubcommand("throw", "").OnRun(command);
  testing::internal::CaptureStderr();
  const int exit_code = RunCommandLine(*line, context, {"throw"});
  return {exit_code, "", testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, CompletionIsAScriptOfAllCommands) {
  const Answer answer = Type({"completion", "bash"});
  EXPECT_EQ(answer.exit_code, 0);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("complete -F _fgnn_complete fgnn"),
                                HasSubstr("'fgnn dataset import csv'")));
}

TEST(CommandLine, AnExceptionIsOneLineAndExitCodeOne) {
  const Answer no_memory = Throw([] { throw std::bad_alloc(); });
  EXPECT_EQ(no_memory.exit_code, 1);
  EXPECT_EQ(no_memory.err,
            "fgnn: not enough memory; end other programs, or ask for less at "
            "a time\n");
  const Answer other = Throw([] { throw std::length_error("too\nlong"); });
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.err,
            "fgnn: ended by an error that the program does not know: "
            "too\\nlong\n");
}

struct WrongUse {
  std::vector<std::string> args;
  std::string names;
  std::string way_out;
};

class WrongUseTest : public testing::TestWithParam<WrongUse> {};

TEST_P(WrongUseTest, IsOneLineThatNamesTheWordAndTheWayOut) {
  const Answer answer = Type(GetParam().args);
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, testing::StartsWith("fgnn: "));
  EXPECT_THAT(answer.err, AllOf(HasSubstr(GetParam().names),
                                HasSubstr(GetParam().way_out)));
  EXPECT_EQ(answer.err.find('\n'), answer.err.size() - 1) << answer.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongUseTest,
    testing::Values(
        WrongUse{{}, "'fgnn' needs one of", "run"},
        WrongUse{{"rnu", "job.yaml"}, "'rnu'", "did you mean 'run'?"},
        WrongUse{{"run", "job.yaml", "--batch-size", "3"},
                 "'--batch-size'",
                 "'--set sampling.batch_size=VALUE'"},
        WrongUse{{"plot", "last", "--out", "a.png"}, "a.png", ".svg"},
        WrongUse{{"run"}, "JOB", "fgnn run --help"},
        WrongUse{{"run", "j", "--ste", "a=1"}, "'--ste'", "'--set'"},
        WrongUse{{"run", "j", "--ste=a=1"}, "'--ste'", "'--set'"},
        WrongUse{{"run", "j", "k"}, "'k'", "fgnn run --help"},
        WrongUse{{"run", "j", "--set"}, "--set", "fgnn run --help"},
        WrongUse{{"--jsno", "jobs"}, "'--jsno'", "'--json'"},
        WrongUse{{"dataset", "imprt"}, "'imprt'", "'import'"},
        WrongUse{{"dataset", "import"}, "needs one of", "edgelist"},
        WrongUse{{"jobs", "--limit", "many"}, "--limit", "fgnn jobs --help"},
        WrongUse{{"jobs", "--limit", "0"}, "--limit", "fgnn jobs --help"},
        WrongUse{{"help", "dataset", "imprt"}, "'imprt'", "'import'"},
        WrongUse{{"submit", "j", "--name",
                  "Stra\xdf"
                  "e"},
                 "Stra\\xdfe",
                 "not UTF-8"},
        WrongUse{{"up", "--devices", "cpu:x"}, "cpu:x", "cpu:"},
        WrongUse{{"bench"}, "needs one of", "sample"},
        WrongUse{{"bench", "sample"}, "--dataset", "bench sample --help"},
        WrongUse{{"bench", "sample", "--dataset", "no_such_folder"},
                 "no_such_folder",
                 "fgnn dataset"},
        WrongUse{{"bench", "sample", "--dataset", "d", "--fanouts", "5,0"},
                 "--fanouts",
                 "-1 for all"},
        WrongUse{{"bench", "sample", "--dataset", "d", "--threads", "0"},
                 "--threads",
                 "1 to 1024"},
        WrongUse{{"bench", "idmap", "--dataset", "d", "--algorithm", "walk"},
                 "--algorithm",
                 "khop"},
        WrongUse{{"run", "no_such_job.yaml"}, "no_such_job.yaml", "No such"},
        WrongUse{{"predict", "nothing", "--dataset", "d", "--out", "o"},
                 "'nothing'",
                 "run's folder"}));

TEST(CommandLineTest, AnErrorInJsonHasACode) {
  const Answer failed = Type({"status", "--json"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, testing::StartsWith(
                              "{\"type\":\"error\",\"code\":\"unavailable\","
                              "\"exit_code\":1,\"message\":"));
  EXPECT_THAT(Type({"rnu", "--json"}).out,
              HasSubstr("\"code\":\"invalid_argument\",\"exit_code\":2"));
}

TEST(CommandLineTest, GlobalFlagsMayStandBehindTheCommand) {
  const Answer answer = Type({"status", "--state-dir", "/nonexistent/here"});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("/nonexistent/here"), HasSubstr("fgnn up")));
}

TEST(CommandLineTest, HelpAndVersionGoToStdoutAndSucceed) {
  EXPECT_THAT(Type({"--version"}).out,
              testing::MatchesRegex("fgnn 0\\.1\\.0\n"
                                    "revision ([0-9a-f]+(-dirty)?|unknown)\n"
                                    "compiler .+, .+\n"
                                    "processor .+ or better\n"
                                    "cuda (yes|no)\n"));
  const Answer help = Type({"run", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--set"));
}

TEST(CommandLineTest, DownWithoutAServiceIsNoError) {
  EXPECT_EQ(Type({"down"}).exit_code, 0);
}

TEST(CommandLineTest, WithoutAHomeTheStateFolderHasToBeNamed) {
  const auto type = [](std::vector<std::string> args) {
    CommandContext context;
    context.default_state_dir_status =
        absl::FailedPreconditionError("name it with --state-dir");
    const auto line = MakeCommandLine(context);
    testing::internal::CaptureStderr();
    const int exit_code = RunCommandLine(*line, context, std::move(args));
    return Answer{exit_code, "", testing::internal::GetCapturedStderr()};
  };
  for (const char* command : {"jobs", "up", "status", "down", "doctor"}) {
    const Answer answer = type({command});
    EXPECT_EQ(answer.exit_code, 2) << command;
    EXPECT_THAT(answer.err, HasSubstr("name it with --state-dir")) << command;
  }
  EXPECT_EQ(type({"down", "--state-dir", "/nonexistent/here"}).exit_code, 0);
  // These need no service.
  EXPECT_THAT(type({"dataset", "info", "/nonexistent"}).err,
              testing::Not(HasSubstr("--state-dir")));
}

TEST(CommandLineTest, AServiceElsewhereIsNamedOnceAndNotForFilesOfIts) {
  const Answer logs = Type({"logs", "--server", "gpu1:7070"});
  EXPECT_EQ(logs.exit_code, 2);
  EXPECT_THAT(logs.err, HasSubstr("own machine"));
  const Answer both =
      Type({"jobs", "--server", "gpu1:7070", "--state-dir", "/elsewhere"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("two services"));
  const Answer wrong = Type({"jobs", "--server", "gpu1"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("HOST:PORT"));
  const Answer bare =
      Type({"jobs", "--server", "gpu1:7070", "--tls-dir", "/nonexistent"});
  EXPECT_EQ(bare.exit_code, 2);
  EXPECT_THAT(bare.err, HasSubstr("/nonexistent has no ca.pem"));
}

TEST(CommandLineTest, CommandsToTypeNameAStateFolderThatIsNotTheDefault) {
  CommandContext context;
  context.default_state_dir = "/a";
  context.place.state_dir = "/a";
  EXPECT_EQ(CommandToType(context, "watch 4f"), "fgnn watch 4f");
  context.place.state_dir = "/b";
  EXPECT_EQ(CommandToType(context, "watch 4f"), "fgnn --state-dir /b watch 4f");
  context.place.server = "gpu1:7070";
  EXPECT_EQ(CommandToType(context, "watch 4f"),
            "fgnn --server gpu1:7070 watch 4f");
  context.default_server = context.place.server;
  EXPECT_EQ(CommandToType(context, "watch 4f"), "fgnn watch 4f");
}

}  // namespace
}  // namespace fgnn
