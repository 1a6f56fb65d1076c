// A checkpoint is replaced while its writer is killed at every system call, or
// while every one of its file operations fails. Whoever resumes afterwards
// finds the old checkpoint or the new one, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <vector>

#include "shared/config/checkpoint_name.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fault/traced_child.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr int kWriteFailed = 1;
constexpr uint64_t kOld = 100;
constexpr uint64_t kNew = 200;

class CheckpointFaultTest : public testing::Test {
 protected:
  CheckpointFaultTest() {
    info_.job_id = "job";
    info_.model.layers = 2;
    info_.model.hidden = 40;
    info_.model.input_columns = 100;
    info_.model.num_classes = 5;
    weights_.resize(NumParameters(info_.model));
    state_.resize(2 * weights_.size());
    path_ = folder_ / CheckpointAge{1, 0}.ToName();
  }

  // A checkpoint all of whose numbers are its version.
  absl::Status Write(uint64_t version) {
    info_.version = version;
    std::fill(weights_.begin(), weights_.end(), static_cast<float>(version));
    std::fill(state_.begin(), state_.end(), static_cast<float>(version));
    return WriteCheckpoint(path_, info_, {weights_, state_});
  }

  // The version of the sound checkpoint that a resumed job would find.
  uint64_t FindVersion() {
    const auto found = FindCheckpoints(folder_.path());
    EXPECT_THAT(found, IsOk());
    EXPECT_THAT(*found, testing::ElementsAre(path_));
    const auto checkpoint = ReadCheckpoint(path_);
    EXPECT_THAT(checkpoint, IsOk());
    if (!checkpoint.ok()) return 0;
    for (const auto* values :
         {&checkpoint->weights, &checkpoint->optimizer_state}) {
      for (const float value : *values) {
        EXPECT_EQ(value, static_cast<float>(checkpoint->info.version));
        if (HasFailure()) return 0;
      }
    }
    return checkpoint->info.version;
  }
  size_t NumFiles() {
    return static_cast<size_t>(std::distance(
        fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  // Writes the new checkpoint in a process of its own; as RunTraced().
  int WriteTraced(const std::function<bool(const CallStop&)>& on_stop) {
    return RunTraced([this] { return Write(kNew).ok() ? 0 : kWriteFailed; },
                     on_stop);
  }

  TempFolder folder_;
  fs::path path_;
  CheckpointInfo info_;
  std::vector<float> weights_;
  std::vector<float> state_;
};

TEST_F(CheckpointFaultTest, AKillAtAnySystemCallLeavesTheOldOneOrTheNew) {
  FGNN_ASSERT_OK(Write(kOld));
  std::set<uint64_t> calls, versions;
  for (uint64_t last_stop = 0;; ++last_stop) {
    uint64_t stops = 0;
    bool renamed = false;
    const int status = WriteTraced([&](const CallStop& stop) {
      calls.insert(stop.number);
      renamed = renamed || (stop.number == SYS_rename && !stop.entering);
      return stops++ < last_stop;
    });
    if (CannotTrace(status)) {
      GTEST_SKIP() << "this machine does not allow ptrace";
    }
    const uint64_t version = FindVersion();
    EXPECT_EQ(version, renamed ? kNew : kOld);
    ASSERT_FALSE(HasFailure()) << "killed at stop " << last_stop;
    versions.insert(version);
    if (status != -1) break;  // It came to its end.
    FGNN_ASSERT_OK(Write(kOld));
    ASSERT_LT(last_stop, 1000U);
  }
  EXPECT_THAT(versions, testing::ElementsAre(kOld, kNew));
  EXPECT_TRUE(calls.contains(SYS_fsync));
}

#if defined(__x86_64__)
// Each of these calls fails once with each of these errors.
TEST_F(CheckpointFaultTest, AnErrorOfAnyFileOperationIsToldAndLeavesNothing) {
  const std::set<uint64_t> file_calls = {SYS_openat, SYS_pwrite64, SYS_fchmod,
                                         SYS_fsync, SYS_rename};
  std::set<uint64_t> failed_calls;
  for (const int error : {ENOSPC, EIO, EDQUOT}) {
    for (uint64_t failing = 0;; ++failing) {
      FGNN_ASSERT_OK(Write(kOld));
      uint64_t seen = 0;
      bool failed = false;
      const int status = WriteTraced([&](const CallStop& stop) {
        if (!file_calls.contains(stop.number)) return true;
        user_regs_struct registers = {};
        ::ptrace(PTRACE_GETREGS, stop.pid, nullptr, &registers);
        if (stop.entering && seen++ == failing) {
          failed_calls.insert(stop.number);
          failed = true;
          registers.orig_rax = static_cast<unsigned long long>(-1);
          ::ptrace(PTRACE_SETREGS, stop.pid, nullptr, &registers);
        } else if (!stop.entering && failed && seen == failing + 1) {
          ++seen;  // The calls after it are real.
          registers.rax = static_cast<unsigned long long>(-error);
          ::ptrace(PTRACE_SETREGS, stop.pid, nullptr, &registers);
        }
        return true;
      });
      if (CannotTrace(status)) {
        GTEST_SKIP() << "this machine does not allow ptrace";
      }
      ASSERT_TRUE(WIFEXITED(status));
      if (!failed) break;  // It makes fewer calls than this.
      EXPECT_EQ(WEXITSTATUS(status), kWriteFailed) << "call " << failing;
      FindVersion();
      EXPECT_EQ(NumFiles(), 1U) << "call " << failing;
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_EQ(failed_calls, file_calls);
}

TEST_F(CheckpointFaultTest, ShortWritesAreGoneOnWith) {
  FGNN_ASSERT_OK(Write(kOld));
  uint64_t shortened = 0;
  const int status = WriteTraced([&](const CallStop& stop) {
    if (stop.number != SYS_pwrite64 || !stop.entering) return true;
    user_regs_struct registers = {};
    ::ptrace(PTRACE_GETREGS, stop.pid, nullptr, &registers);
    if (registers.rdx < 2) return true;
    registers.rdx /= 2;
    ::ptrace(PTRACE_SETREGS, stop.pid, nullptr, &registers);
    ++shortened;
    return true;
  });
  if (CannotTrace(status)) {
    GTEST_SKIP() << "this machine does not allow ptrace";
  }
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(shortened, 10U);
  EXPECT_EQ(FindVersion(), kNew);
}
#endif

}  // namespace
}  // namespace fgnn
