// The scheduler is killed at every system call while it takes, starts and ends
// a job. What it said stands afterwards, and nothing is there twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "scheduler/jobs/job_table.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fault/traced_child.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;

// What the client of the killed scheduler has been told.
enum Told : int { kNothing = 0, kSubmitted = 1, kCompleted = 2 };

class JournalFaultTest : public testing::Test {
 protected:
  JournalFaultTest()
      : told_(static_cast<int*>(::mmap(nullptr, sizeof(int),
                                       PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~JournalFaultTest() override { ::munmap(told_, sizeof(int)); }

  std::unique_ptr<JobTable> Open() {
    return JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                          folder_.path())
        .value();
  }
  static JobRequest Request() {
    JobRequest request;
    request.spec = SharedJob();
    request.client_key = "key";
    return request;
  }
  int Serve() {
    const auto table = Open();
    const auto job = table->Submit(Request());
    if (!job.ok()) return 1;
    *told_ = kSubmitted;
    if (!table->dispatcher().StartNext(Deadline::min()).has_value()) return 2;
    table->dispatcher().MarkRunning(job->id);
    table->dispatcher().End(job->id, JobState::kCompleted, absl::OkStatus());
    *told_ = kCompleted;
    return 0;
  }

  TempFolder folder_;
  int* const told_;  // Shared with the child.
};

TEST_F(JournalFaultTest, WhatWasSaidStandsWhereverTheSchedulerIsKilled) {
  std::set<int> told;
  std::set<JobState> states;
  bool told_before_synced = false;
  for (uint64_t last_stop = 0;; ++last_stop) {
    *told_ = kNothing;
    uint64_t stops = 0;
    bool synced = true;  // Nothing was written that is not on disk.
    int told_before = kNothing;
    const int status = RunTraced(
        [this] { return Serve(); },
        [&](const CallStop& stop) {
          told_before_synced |= *told_ != told_before && !synced;
          told_before = *told_;
          if (stop.number == SYS_pwrite64) {
            synced = false;
          } else if (stop.number == SYS_fdatasync || stop.number == SYS_fsync) {
            synced = !stop.entering || synced;
          }
          // A kill behind a call leaves what one before the next call does.
          return !stop.entering || stops++ < last_stop;
        });
    if (CannotTrace(status)) {
      GTEST_SKIP() << "this machine does not allow ptrace";
    }
    if (status != -1) {
      EXPECT_EQ(status, 0);
    }
    told.insert(*told_);
    const auto table = Open();
    const std::vector<Job> jobs = table->List({}, 10).value();
    ASSERT_LE(jobs.size(), 1U) << "killed at stop " << last_stop;
    if (*told_ >= kSubmitted) {
      ASSERT_EQ(jobs.size(), 1U) << "lost at stop " << last_stop;
    }
    if (!jobs.empty()) {
      const Job& job = jobs.front();
      states.insert(job.state);
      ASSERT_THAT(job.state, AnyOf(JobState::kQueued, JobState::kCompleted));
      if (*told_ == kCompleted) {
        ASSERT_EQ(job.state, JobState::kCompleted)
            << "to be run again, killed at stop " << last_stop;
      }
    }
    // The client asks again, as it does without an answer.
    FGNN_ASSERT_OK_AND_ASSIGN(const Job again, table->Submit(Request()));
    if (!jobs.empty()) {
      ASSERT_EQ(again.id, jobs.front().id);
    }
    ASSERT_EQ(table->List({}, 10)->size(), 1U);
    if (status != -1) break;  // It came to its end.
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      fs::remove(file.path());
    }
    ASSERT_LT(last_stop, 5000U);
  }
  EXPECT_THAT(told, testing::ElementsAre(kNothing, kSubmitted, kCompleted));
  EXPECT_THAT(states,
              testing::ElementsAre(JobState::kQueued, JobState::kCompleted));
  EXPECT_FALSE(told_before_synced);
}

}  // namespace
}  // namespace fgnn
