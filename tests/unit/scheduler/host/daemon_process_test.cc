#include "scheduler/host/book/daemon_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/host/book/state_lock.h"
#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kProcessWait{30};

class DaemonProcessTest : public testing::Test {
 protected:
  DaemonProcess Shell(const std::string& script) {
    return DaemonProcess::Spawn({.program = "/bin/sh",
                                 .arguments = {"-c", script},
                                 .log = temp_ / "log"})
        .value();
  }
  TempFolder temp_;
};

TEST_F(DaemonProcessTest, TellsHowItEnded) {
  DaemonProcess exits = Shell("exit 3");
  ASSERT_TRUE(exits.WaitForEnd(DeadlineIn(kProcessWait)));
  EXPECT_EQ(exits.Reap().how, "with exit code 3");

  DaemonProcess dies = Shell("kill -11 $$");
  ASSERT_TRUE(dies.WaitForEnd(DeadlineIn(kProcessWait)));
  EXPECT_EQ(dies.Reap().how, "by signal 11");
  EXPECT_THAT(dies.Signal(SIGKILL), IsOk());  // Gone already is fine.
}

TEST_F(DaemonProcessTest, AppendsToItsLogAndInheritsNothing) {
  // What a careless library leaves open.
  const int inherited = ::fcntl(STDERR_FILENO, F_DUPFD, 50);
  ASSERT_GE(inherited, 50);
  DaemonProcess first =
      Shell(absl::StrCat("echo out; echo error >&2; if test -e /proc/$$/fd/",
                         inherited, "; then echo inherited; fi; cat"));
  ASSERT_TRUE(first.WaitForEnd(DeadlineIn(kProcessWait)));
  first.Reap();
  DaemonProcess second = Shell("ps -o pgid= -p $$; echo $$");
  ASSERT_TRUE(second.WaitForEnd(DeadlineIn(kProcessWait)));
  second.Reap();
  ::close(inherited);
  const std::string log = ReadSmallFile(temp_ / "log").value();
  EXPECT_THAT(log, testing::StartsWith("out\nerror\n"));
  EXPECT_THAT(log, testing::Not(HasSubstr("inherited")));
  // It leads its own process group.
  const std::string pid = absl::StrCat(second.pid());
  EXPECT_THAT(log, HasSubstr(absl::StrCat(pid, "\n", pid, "\n")));
}

TEST_F(DaemonProcessTest, ASignalBlockedByTheSchedulerReachesTheDaemon) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  DaemonProcess process = Shell("sleep 60");
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_FALSE(process.HasEnded());
  FGNN_ASSERT_OK(process.Signal(SIGTERM));
  ASSERT_TRUE(process.WaitForEnd(DeadlineIn(kProcessWait)));
  EXPECT_EQ(process.Reap().how, "by signal 15");
}

TEST_F(DaemonProcessTest, SaysThatThereIsNoSuchProgram) {
  EXPECT_THAT(DaemonProcess::Spawn({.program = temp_ / "no-program",
                                    .arguments = {},
                                    .log = temp_ / "log"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no-program")));
}

TEST_F(DaemonProcessTest, AdoptsOnlyTheProcessThatWasMeant) {
  DaemonProcess process = Shell("sleep 60");
  EXPECT_THAT(DaemonProcess::Adopt(process.pid(), process.start_time()),
              IsOk());
  EXPECT_THAT(DaemonProcess::Adopt(process.pid(), process.start_time() + 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("another")));
  FGNN_ASSERT_OK(process.Signal(SIGKILL));
  ASSERT_TRUE(process.WaitForEnd(DeadlineIn(kProcessWait)));
  process.Reap();
  EXPECT_THAT(DaemonProcess::Adopt(process.pid(), process.start_time()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(StateLockTest, OneServiceAFolder) {
  const TempFolder temp;
  {
    const auto lock = StateLock::Take(temp.path());
    FGNN_ASSERT_OK(lock.status());
    EXPECT_THAT(
        StateLock::Take(temp.path()),
        StatusIs(absl::StatusCode::kAlreadyExists,
                 HasSubstr(absl::StrCat("another service (pid ", ::getpid(),
                                        ") runs in ", temp.path().string()))));
  }
  EXPECT_THAT(StateLock::Take(temp.path()), IsOk());
}

// Whoever can read a file can lock it, and keep the service from starting.
TEST(StateLockTest, NobodyElseCanReadTheFile) {
  const TempFolder temp;
  const std::filesystem::path file = temp / "fgnn.lock";
  std::ofstream(file) << "1\n";
  std::filesystem::permissions(file, std::filesystem::perms(0660));
  FGNN_ASSERT_OK_AND_ASSIGN(const StateLock lock, StateLock::Take(temp.path()));
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms(0600));
}

TEST(StateLockTest, AFolderThatWasDeletedOrReplacedIsGone) {
  const TempFolder temp;
  const std::filesystem::path folder = temp / "state";
  std::filesystem::create_directory(folder);
  FGNN_ASSERT_OK_AND_ASSIGN(const StateLock lock, StateLock::Take(folder));
  EXPECT_FALSE(lock.IsFolderGone());
  std::filesystem::rename(folder / "fgnn.lock", temp / "lock");
  EXPECT_FALSE(lock.IsFolderGone());  // The folder is there.
  std::filesystem::remove(folder);
  EXPECT_TRUE(lock.IsFolderGone());
  std::filesystem::create_directory(folder);
  FGNN_ASSERT_OK_AND_ASSIGN(const StateLock other, StateLock::Take(folder));
  EXPECT_TRUE(lock.IsFolderGone());
  EXPECT_FALSE(other.IsFolderGone());
}

}  // namespace
}  // namespace fgnn
