// Jobs that are preempted between two steps end as if nothing had
// happened.
#include <string>

#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The second of three steps of the third epoch cannot be made without it.
constexpr BatchSeq kHeld(12);
constexpr char kHeldCheckpoint[] = "epoch-0002-step-0000000007";

class JobPreemptionTest : public JobRunTest {
 protected:
  JobPreemptionTest() {
    spec_.training.evaluate_every = 0;
    spec_.training.checkpoint_every = 0;
    Hold(kHeld);
  }

  void Hold(BatchSeq seq) {
    for (const char* name : {"trainer.0", "trainer.1"}) {
      calls_.daemon(name).HoldOn(seq);
    }
  }
  void WaitUntilHeld() {
    WaitUntil(id_, [](const Job& job) {
      return job.progress.batches_committed == kHeld.value();
    });
  }
};

TEST_F(JobPreemptionTest, APausedJobGoesOnWithinTheEpoch) {
  while_it_runs_ = [this] {
    WaitUntilHeld();
    FGNN_ASSERT_OK(table_->Pause(id_));
    WaitUntil(id_, [this](const Job&) {
      return table_->PauseAnswer(id_).has_value();
    });
    EXPECT_EQ(table_->PauseAnswer(id_), absl::OkStatus());
    EXPECT_EQ(table_->Get(id_)->job.state, JobState::kPaused);
    for (const ExecutorView& executor : host_->Executors()) {
      EXPECT_EQ(executor.job_id, "");
    }
    Hold(BatchSeq(UINT64_MAX));
    FGNN_ASSERT_OK(table_->Continue(id_));
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_TRUE(HasCheckpoint(kHeldCheckpoint));
  EXPECT_THAT(calls_.loaded,
              ElementsAre(std::string(kHeldCheckpoint) + ".safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobPreemptionTest, AJobIsPreemptedByAHigherPriorityAndThenGoesOn) {
  calls_.on_save = [this](const fs::path& path) {
    if (path.stem() == kHeldCheckpoint) Hold(BatchSeq(UINT64_MAX));
  };
  std::string high;
  while_it_runs_ = [&] {
    WaitUntilHeld();
    JobRequest request;
    request.spec = SharedSpec();
    request.options.priority = 1;
    high = table_->Submit(request)->id;
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.preemptions, 1U);
  const Job other = table_->Get(high)->job;
  EXPECT_EQ(other.state, JobState::kCompleted) << other.error;
  EXPECT_LE(other.finished_ms, job.finished_ms);
  EXPECT_EQ(other.preemptions, 0U);
  ExpectEveryBatchOnce();
}

TEST_F(JobPreemptionTest, AnEpochThatIsDoneNeedsNoStepOfTheNext) {
  Hold(BatchSeq(UINT64_MAX));
  spec_.training.checkpoint_every = 2;
  int times = 0;
  calls_.on_save = [&](const fs::path& path) {
    if (path.stem() == "epoch-0002" && ++times == 1) {
      EXPECT_THAT(table_->Pause(id_), IsOk());
    }
  };
  while_it_runs_ = [&] {
    WaitUntil(id_,
              [](const Job& job) { return job.state == JobState::kPaused; });
    FGNN_ASSERT_OK(table_->Continue(id_));
  };
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(times, 1);  // It was written already.
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobPreemptionTest, WithoutACheckpointItKeepsItsDevices) {
  calls_.saves = {absl::ResourceExhaustedError("disk full")};
  while_it_runs_ = [this] {
    WaitUntilHeld();
    FGNN_ASSERT_OK(table_->Pause(id_));
    WaitUntil(id_, [this](const Job&) {
      return table_->PauseAnswer(id_).has_value();
    });
    EXPECT_THAT(
        *table_->PauseAnswer(id_),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("disk full")));
    EXPECT_EQ(table_->Get(id_)->job.state, JobState::kRunning);
    Hold(BatchSeq(UINT64_MAX));
  };
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_THAT(calls_.loaded, IsEmpty());
  ExpectEveryBatchOnce();
}

TEST_F(JobPreemptionTest, ATimeLimitEndsTheJobAndKeepsItsCheckpoint) {
  request_.options.time_limit_seconds = 1;
  request_.options.retries = 5;
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kDeadlineExceeded,
                                  HasSubstr("time limit of 1 s")));
  EXPECT_EQ(job.attempts, 0U);
  EXPECT_TRUE(HasCheckpoint(kHeldCheckpoint));
  EXPECT_EQ(Summary()["state"], "failed");
  Hold(BatchSeq(UINT64_MAX));
  request_ = {};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobPreemptionTest, AFailedStartIsMadeAgain) {
  Hold(BatchSeq(UINT64_MAX));
  request_.options.retries = 1;
  calls_.training = absl::InternalError("out of luck");
  while_it_runs_ = [this] {
    WaitUntil(id_, [](const Job& job) { return job.attempts == 1; });
    EXPECT_THAT(table_->Get(id_)->job.error,
                StatusIs(absl::StatusCode::kInternal));
    // The thread of the jobs reads it, so none may start meanwhile.
    FGNN_ASSERT_OK(table_->Pause(id_));
    calls_.training = 1 << 20;
    FGNN_ASSERT_OK(table_->Continue(id_));
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.attempts, 1U);
  ExpectEveryBatchOnce();
}

}  // namespace
}  // namespace fgnn
