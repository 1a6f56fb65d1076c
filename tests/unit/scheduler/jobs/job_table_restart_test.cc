// What becomes of jobs whose service ends, is killed or goes down again and
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/files/run_lock.h"
#include "shared/base/clock.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/jobs/job_table_fixture.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(JobTableTest, AfterARestartWhatRanGoesOnBeforeWhatWaited) {
  const std::string first = Submit();
  const std::string second = Submit();
  ASSERT_EQ(Start().id, first);
  table_->dispatcher().MarkRunning(first);

  Reopen();
  EXPECT_EQ(StateOf(first), JobState::kQueued);
  EXPECT_EQ(StateOf(second), JobState::kQueued);
  EXPECT_THAT(table_->interrupted(), testing::ElementsAre(first));
  EXPECT_TRUE(table_->dispatcher().resumes_interrupted());
  const Job again = Start();
  EXPECT_EQ(again.id, first);
  EXPECT_TRUE(again.resume);
  table_->dispatcher().End(first, JobState::kCompleted, absl::OkStatus());
  const Job waited = Start();
  EXPECT_EQ(waited.id, second);
  EXPECT_FALSE(waited.resume);
}

TEST_F(JobTableTest, AJobThatWasBeingCancelledIsCancelledByARestart) {
  const std::string id = Submit();
  ASSERT_EQ(Start().id, id);
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
}

// The service dies between a job's summary and the store's record of its end.
TEST_F(JobTableTest, AJobWhoseRunIsCompleteIsCompletedByARestart) {
  // Returns the job as a restart finds it, after a summary of `state` by the
  // job, or by the earlier job `by`.
  const auto settled = [this](const std::string& state, bool is_cancelled,
                              std::string by = "") {
    const std::string id = Submit();
    const fs::path run_dir = Start().run_dir;
    fs::create_directories(run_dir);
    std::ofstream(run_dir / "summary.json")
        << R"({"state": ")" << state << R"(", "job_id": ")"
        << (by.empty() ? id : by)
        << R"(", "epochs": 2, "batches_committed": 8, "test_mrr": 0.5})";
    if (is_cancelled) {
      EXPECT_THAT(table_->Cancel(id, absl::CancelledError("by hand")), IsOk());
    }
    Reopen();
    const Job job = table_->Get(id)->job;
    // The next job is the only one.
    if (!IsFinal(job.state)) {
      EXPECT_THAT(table_->Cancel(id, absl::CancelledError("over")), IsOk());
    }
    return job;
  };
  for (const bool is_cancelled : {false, true}) {
    SCOPED_TRACE(is_cancelled);
    const Job job = settled("completed", is_cancelled);
    EXPECT_EQ(job.state, JobState::kCompleted);
    FGNN_ASSERT_OK(job.error);
    EXPECT_GT(job.finished_ms, 0);
    EXPECT_EQ(job.progress.phase, "completed");
    EXPECT_EQ(job.progress.epochs_done, 2);
    EXPECT_EQ(job.progress.batches_committed, 8);
    EXPECT_EQ(job.progress.test.mrr, 0.5);
    // Its daemons may still have its memory.
    EXPECT_THAT(table_->interrupted(), testing::ElementsAre(job.id));
    EXPECT_FALSE(table_->dispatcher().resumes_interrupted());
    EXPECT_EQ(settled("cancelled", is_cancelled).state,
              is_cancelled ? JobState::kCancelled : JobState::kQueued);
    // The job was to train this run further.
    EXPECT_EQ(settled("completed", is_cancelled, "job-of-before").state,
              is_cancelled ? JobState::kCancelled : JobState::kQueued);
  }
}

TEST_F(JobTableTest, AJobThatTakesTheServiceDownAgainAndAgainLetsOthersPass) {
  const std::string id = Submit();
  for (int restart = 0; restart < 5; ++restart) {
    ASSERT_EQ(Start().id, id);
    Reopen();
  }
  ASSERT_EQ(Start().id, id);
  const std::string other = Submit();
  Reopen();
  EXPECT_EQ(Start().id, other);
  table_->dispatcher().End(other, JobState::kCompleted, absl::OkStatus());
  EXPECT_EQ(Start().id, id);  // A second later.
}

// An administrator moves the runs to a larger disk.
TEST_F(JobTableTest, TheServicesFolderOfRunsMayBecomeALink) {
  const std::string id = Submit();
  const fs::path before = table_->Get(id)->job.run_dir;
  table_.reset();
  fs::create_directory(folder_ / "large");
  fs::remove_all(folder_ / "runs");
  fs::create_symlink(folder_ / "large", folder_ / "runs");
  Reopen();
  const fs::path now = table_->Get(id)->job.run_dir;
  EXPECT_EQ(now, CanonicalRunDir(before));
  EXPECT_NE(now, before);
}

TEST_F(JobTableTest, AJobThatIsHeldBackCanBeCancelled) {
  const std::string id = Submit();
  for (int restart = 0; restart < 6; ++restart) {
    ASSERT_EQ(Start().id, id);
    Reopen();
  }
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_FALSE(table_->dispatcher().StartNext(Deadline::min()).has_value());
}

// Between two deaths the job is held back for seconds, which is passed over
// here by the store: the table counts nothing but deaths.
class PoisonJobTest : public JobTableTest {
 protected:
  // The service dies while it prepares these jobs.
  void DieInPreparing(const std::vector<std::string>& ids) {
    table_.reset();
    JobStore store = JobStore::Open(folder_ / "jobs.sqlite").value();
    const std::vector<Job> jobs = store.Unfinished().value();
    for (Job job : jobs) {
      if (std::find(ids.begin(), ids.end(), job.id) == ids.end()) continue;
      job.state = JobState::kPreparing;
      job.interruptions = 0;
      FGNN_ASSERT_OK(store.Update(job));
    }
    Reopen();
  }
};

TEST_F(PoisonJobTest, TenDeathsWhileItIsPreparedFailAJobAndNoOther) {
  const std::string poison = Submit();
  const std::string other = Submit();
  for (int death = 1; death < 10; ++death) {
    DieInPreparing({poison});
    ASSERT_EQ(StateOf(poison), JobState::kQueued) << death;
  }
  DieInPreparing({poison});
  const Job job = table_->Get(poison)->job;
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInternal,
                                  testing::AllOf(HasSubstr("10 times"),
                                                 HasSubstr("prepared"))));
  EXPECT_EQ(Start().id, other);
}

TEST_F(PoisonJobTest, AStartThatGetsFurtherEndsTheCount) {
  const std::string id = Submit();
  for (int round = 0; round < 3; ++round) {
    for (int death = 1; death < 10; ++death) DieInPreparing({id});
    ASSERT_EQ(Start().id, id);
    table_->dispatcher().MarkRunning(id);
  }
  // A death while it runs counts for nothing.
  for (int death = 0; death < 3; ++death) Reopen();
  EXPECT_EQ(StateOf(id), JobState::kQueued);
}

TEST_F(JobTableTest, AnEpochBetweenMakesUpForInterruptions) {
  const std::string id = Submit();
  for (int restart = 0; restart < 30; ++restart) {
    const std::optional<Job> job =
        table_->dispatcher().StartNext(Deadline::min());
    ASSERT_TRUE(job.has_value()) << restart;  // It is never held back.
    table_->dispatcher().MarkRunning(id);
    if (restart % 5 == 4) table_->dispatcher().ForgetInterruptions(id);
    Reopen();
  }
}

TEST_F(JobTableTest, WhetherAJobHasItsFolderIsKnownAfterARestart) {
  const std::string id = Submit();
  EXPECT_EQ(Start().folder, FolderUse::kMake);
  Reopen();
  EXPECT_EQ(Start().folder, FolderUse::kMake);
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(id));
  Reopen();
  EXPECT_EQ(Start().folder, FolderUse::kOwn);
}

}  // namespace
}  // namespace fgnn
