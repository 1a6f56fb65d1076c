// A run's folder is made, and its first files are written, while the scheduler
// is killed at every system call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_folder.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fault/traced_child.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class RunFolderFaultTest : public testing::Test {
 protected:
  RunFolderFaultTest()
      : claimed_(static_cast<int*>(
            ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~RunFolderFaultTest() override { ::munmap(claimed_, sizeof(int)); }

  fs::path RunDir() const { return temp_ / "runs/one"; }

  // As the scheduler up to the end of the first epoch.
  int MakeAndFill() {
    auto folder = RunFolder::Create(RunDir(), "job", {}, [this] {
      *claimed_ = 1;
      return absl::OkStatus();
    });
    if (!folder.ok()) return 1;
    if (!folder->AppendMetrics("{}\n").ok()) return 2;
    if (!folder->AppendDigests("0 ab\n").ok()) return 3;
    const fs::path checkpoint = folder->checkpoints().OfEpoch(1);
    std::ofstream(checkpoint) << "weights";
    return folder->checkpoints().MakeBest(checkpoint).ok() ? 0 : 4;
  }

  TempFolder temp_;
  int* const claimed_;  // Shared with the child.
};

// A job that is started again makes its folder, or goes on in it: it never
// finds its own one in its way.
TEST_F(RunFolderFaultTest, TheJobGetsItsFolderWhereverTheSchedulerIsKilled) {
  std::set<int> claims;
  for (uint64_t last_stop = 0;; ++last_stop) {
    *claimed_ = 0;
    uint64_t stops = 0;
    const int status = RunTraced([this] { return MakeAndFill(); },
                                 [&](const CallStop& stop) {
                                   // A kill behind a call leaves what one
                                   // before the next call does.
                                   return !stop.entering || stops++ < last_stop;
                                 });
    if (CannotTrace(status)) {
      GTEST_SKIP() << "this machine does not allow ptrace";
    }
    claims.insert(*claimed_);
    auto again = *claimed_ == 1 ? RunFolder::Reopen(RunDir())
                                : RunFolder::Create(RunDir(), "job", {});
    ASSERT_THAT(again.status(), IsOk()) << "killed at stop " << last_stop;
    ASSERT_THAT(again->GoOn("job", {}), IsOk()) << "killed at " << last_stop;
    fs::remove_all(temp_ / "runs");
    if (status != -1) {
      EXPECT_EQ(status, 0);
      break;
    }
    ASSERT_LT(last_stop, 5000U);
  }
  EXPECT_THAT(claims, testing::ElementsAre(0, 1));
}

#if defined(__x86_64__)
// After a power cut a checkpoint must find the lines that it counts on.
TEST_F(RunFolderFaultTest, TheNamesOfAllThatIsMadeAreSynced) {
  std::set<std::string> synced;
  const int status = RunTraced(
      [this] { return MakeAndFill(); },
      [&](const CallStop& stop) {
        if (stop.number != SYS_fsync || !stop.entering) return true;
        user_regs_struct registers = {};
        ::ptrace(PTRACE_GETREGS, stop.pid, nullptr, &registers);
        std::error_code error;
        const fs::path folder = fs::read_symlink(
            absl::StrCat("/proc/", stop.pid, "/fd/", registers.rdi), error);
        // Which of the names are there by then.
        for (const auto& entry : fs::directory_iterator(folder, error)) {
          synced.insert(entry.path().lexically_relative(temp_.path()));
        }
        return true;
      });
  if (CannotTrace(status)) {
    GTEST_SKIP() << "this machine does not allow ptrace";
  }
  ASSERT_EQ(status, 0);
  EXPECT_THAT(synced, testing::IsSupersetOf(
                          {"runs", "runs/one", "runs/one/job.yaml",
                           "runs/one/run.json", "runs/one/checkpoints",
                           "runs/one/metrics.jsonl", "runs/one/batches.crc",
                           "runs/one/checkpoints/best.safetensors"}));
}
#endif

}  // namespace
}  // namespace fgnn
