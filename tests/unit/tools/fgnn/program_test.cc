#include "tools/fgnn/service/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(RunProgramTest, GivesBothOutputsAndTheExitCode) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ProgramOutput ran,
      RunProgram("/bin/sh", {"-c", "echo out; echo err >&2; exit 3"},
                 DeadlineIn(seconds(30))));
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.output, "out\nerr\n");
}

TEST(RunProgramTest, KillsWhatOutlivesTheDeadline) {
  EXPECT_THAT(RunProgram("/bin/sh", {"-c", "exec sleep 600"},
                         DeadlineIn(milliseconds(20))),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
}

TEST(RunProgramTest, NamesAProgramThatIsNotThere) {
  EXPECT_THAT(
      RunProgram("/no/such/program", {}, DeadlineIn(seconds(30))),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/program")));
}

TEST(RunProgramTest, CapsTheOutputWithoutBlockingTheProgram) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ProgramOutput ran,
      RunProgram("/bin/sh", {"-c", "head -c 1000000 /dev/zero"},
                 DeadlineIn(seconds(30))));
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output.size(), 65536U);
}

TEST(FindProgramTest, NamesThePathThatIsMissing) {
  EXPECT_THAT(
      FindProgram("fgnn-nothing"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/fgnn-nothing")));
}

TEST(WaitUntilGoneTest, ReturnsWhenTheProcessIsGoneAndNotBefore) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_THAT(WaitUntilGone(pid, DeadlineIn(milliseconds(20))),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_THAT(WaitUntilGone(pid, DeadlineIn(seconds(30))), IsOk());
  EXPECT_THAT(WaitUntilGone(pid, DeadlineIn(seconds(30))), IsOk())
      << "a process that is not there is gone";
}

}  // namespace
}  // namespace fgnn
