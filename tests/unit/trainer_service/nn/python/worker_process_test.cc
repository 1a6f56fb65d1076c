#include "trainer_service/nn/python/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

// A program in the place of an interpreter.
class WorkerProcessTest : public testing::Test {
 protected:
  std::unique_ptr<WorkerProcess> Start(const std::string& script) {
    namespace fs = std::filesystem;
    const fs::path program = folder_ / "python3";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(program, fs::perms(0700));
    auto process = WorkerProcess::Start(
        {.python = program, .target = "/m.py:Sage", .memory = memory_.get()});
    EXPECT_THAT(process, IsOk());
    return *std::move(process);
  }
  static void WaitForEnd(const WorkerProcess& process) {
    ASSERT_TRUE(process.WaitForEnd(DeadlineIn(std::chrono::seconds(60))));
  }

  const TempFolder folder_;
  const UniqueFd memory_ = UniqueFd(::memfd_create("test", MFD_CLOEXEC));
};

TEST_F(WorkerProcessTest, SaysHowItEnded) {
  const auto process = Start("echo one; echo; echo \"of $3\" >&2; exit 7");
  WaitForEnd(*process);
  EXPECT_TRUE(process->has_exited());
  EXPECT_EQ(process->DescribeEnd(), "ended with exit code 7: of /m.py:Sage");
  const auto killed = Start("echo last words; kill -9 $$");
  WaitForEnd(*killed);
  EXPECT_FALSE(killed->has_exited());
  EXPECT_EQ(killed->DescribeEnd(), "was ended by signal 9, Killed: last words");
}

TEST_F(WorkerProcessTest, EndsThoughItsChildrenKeepItsStreams) {
  const auto process = Start("sleep 1000 & echo $!; exit 0");
  WaitForEnd(*process);
  const std::string end = process->DescribeEnd();
  ::kill(std::stoi(end.substr(end.find(": ") + 2)), SIGKILL);
}

TEST_F(WorkerProcessTest, EndsThoughItHasClosedItsStreams) {
  const auto process = Start("exec >&- 2>&-; kill -9 $$");
  WaitForEnd(*process);
}

TEST_F(WorkerProcessTest, HasNoOtherDescriptors) {
  const auto process = Start("echo $(ls -m /proc/self/fd); exit 0");
  WaitForEnd(*process);
  // 4 is ls's own look.
  EXPECT_THAT(process->DescribeEnd(), testing::EndsWith(": 0, 1, 2, 3, 4"));
}

TEST_F(WorkerProcessTest, IsKilledWithItsObject) {
  auto process = Start("echo $$ > " + (folder_ / "pid").string() +
                       "; while true; do sleep 1; done");
  pid_t pid = 0;
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (pid == 0 && MonotonicClock::now() < deadline) {
    std::ifstream(folder_ / "pid") >> pid;
  }
  ASSERT_GT(pid, 0);
  process.reset();
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(WorkerProcessTest, NamesAnInterpreterThatIsNotThere) {
  EXPECT_THAT(
      WorkerProcess::Start(
          {.python = folder_ / "none", .target = "", .memory = memory_.get()}),
      NotFound("model.python " + (folder_ / "none").string(),
               "name an interpreter"));
}

}  // namespace
}  // namespace fgnn
