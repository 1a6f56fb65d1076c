#include "tools/fgnn/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tools/fgnn/command_line.h"
#include "tools/fgnn/service/program.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class CompletionTest : public testing::Test {
 protected:
  void SetUp() override {
    script_ = testing::TempDir() + "fgnn_completion_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    CommandContext context;
    std::ofstream(script_) << BashCompletion(MakeCommandLine(context)->root());
  }
  void TearDown() override { std::filesystem::remove(script_); }

  // What bash offers for the last of `words`, in order.
  std::vector<std::string> Complete(const std::vector<std::string>& words) {
    std::string quoted;
    for (const std::string& word : words) quoted += " '" + word + "'";
    const std::string program =
        "compopt() { :; }; fgnn() { case \"$*\" in "
        "'--state-dir s jobs') printf 'job  state\\n4f01 queued\\n';; "
        "devices) printf 'device\\ncpu:0\\ncpu:1-2\\n';; esac; }; "
        "source '" +
        script_ + "'; COMP_WORDS=(" + quoted +
        "); COMP_CWORD=" + std::to_string(words.size() - 1) +
        "; _fgnn_complete; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const auto ran = RunProgram("/bin/bash", {"-c", program},
                                DeadlineIn(std::chrono::seconds(30)));
    EXPECT_THAT(ran, IsOk());
    EXPECT_EQ(ran->exit_code, 0) << ran->output;
    std::istringstream lines(ran->output);
    std::vector<std::string> offered;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) offered.push_back(line);
    }
    return offered;
  }

  std::string script_;
};

TEST_F(CompletionTest, OffersCommandsByTheirBeginning) {
  EXPECT_THAT(Complete({"fgnn", "sta"}), ElementsAre("status"));
  EXPECT_THAT(Complete({"fgnn", ""}),
              AllOf(Contains("run"), Contains("dataset"), Contains("--json")));
}

TEST_F(CompletionTest, OffersSubcommandsAndTheFlagsOfTheCommandAlone) {
  EXPECT_THAT(Complete({"fgnn", "dataset", "im"}), ElementsAre("import"));
  EXPECT_THAT(Complete({"fgnn", "dataset", "import", "edge"}),
              ElementsAre("edgelist"));
  EXPECT_THAT(Complete({"fgnn", "run", "job.yaml", "--d"}),
              ElementsAre("--digest"));
  EXPECT_THAT(Complete({"fgnn", "jobs", "--"}), Not(Contains("--digest")));
}

TEST_F(CompletionTest, OffersJobsOfTheServiceThatTheWordsName) {
  EXPECT_THAT(Complete({"fgnn", "--state-dir", "s", "show", "4"}),
              ElementsAre("4f01"));
  EXPECT_THAT(Complete({"fgnn", "show", "la"}), ElementsAre("last"));
  EXPECT_THAT(Complete({"fgnn", "--state-dir", "s", "submit", "job.yaml",
                        "--after", "last,4"}),
              ElementsAre("last,4f01"));
}

TEST_F(CompletionTest, OffersStatesKeysAndDevices) {
  EXPECT_THAT(Complete({"fgnn", "jobs", "--state", "ru"}),
              ElementsAre("running"));
  EXPECT_THAT(Complete({"fgnn", "jobs", "--state", "queued,ca"}),
              ElementsAre("queued,cancelling", "queued,cancelled"));
  EXPECT_THAT(Complete({"fgnn", "run", "job.yaml", "--set", "training.epo"}),
              ElementsAre("training.epochs="));
  EXPECT_THAT(Complete({"fgnn", "up", "--devices", "c"}),
              ElementsAre("cpu:0", "cpu:1-2"));
  // Bash splits words at colons.
  EXPECT_THAT(Complete({"fgnn", "switch", "cpu", ":", ""}),
              ElementsAre("0", "1-2"));
  EXPECT_THAT(Complete({"fgnn", "switch", "cpu", ":"}),
              ElementsAre("0", "1-2"));
  EXPECT_THAT(Complete({"fgnn", "up", "--devices", "cpu", ":", "1"}),
              ElementsAre("1-2"));
}

TEST_F(CompletionTest, BehindAFlagWithAValueLeavesFileNamesToBash) {
  EXPECT_THAT(Complete({"fgnn", "run", "--run-dir", ""}), IsEmpty());
}

}  // namespace
}  // namespace fgnn
