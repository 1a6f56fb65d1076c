// Priorities, users, pauses, dependencies, retries and limits in the table of
// jobs, and what a restart of the service makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/jobs/job_table.h"
#include "shared/base/clock.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kQueueWait{60};

class JobQueueTest : public testing::Test {
 protected:
  JobQueueTest() { Reopen(); }

  void Reopen() {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                            folder_.path())
                 .value();
  }
  std::string Submit(JobRequest request = {}) {
    request.spec = SharedJob();
    return table_->Submit(request).value().id;
  }
  Job JobOf(const std::string& id) { return table_->Get(id)->job; }
  JobState StateOf(const std::string& id) { return JobOf(id).state; }
  std::string Start() {
    const std::string id =
        table_->dispatcher().StartNext(DeadlineIn(kQueueWait)).value().id;
    table_->dispatcher().MarkRunning(id);
    return id;
  }
  bool NothingStarts() {
    return !table_->dispatcher().StartNext(Deadline::min()).has_value();
  }
  void Complete(const std::string& id) {
    table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  }

  TempFolder folder_;
  std::unique_ptr<JobTable> table_;
};

TEST_F(JobQueueTest, PriorityComesFirstAlsoAfterARestart) {
  const std::string low = Submit({.options = {.priority = -1}});
  const std::string usual = Submit();
  const std::string high = Submit({.options = {.priority = 1}});
  Reopen();
  EXPECT_THAT(JobOf(usual).waiting_for, HasSubstr("1 of higher priority"));
  EXPECT_EQ(Start(), high);
  Complete(high);
  EXPECT_EQ(Start(), usual);
  Complete(usual);
  EXPECT_EQ(Start(), low);
}

TEST_F(JobQueueTest, TheFirstJobsThatWaitAreToldInTheOrderOfTheirStarts) {
  const std::string low = Submit({.options = {.priority = -1}});
  const std::string usual = Submit();
  const std::string high = Submit({.options = {.priority = 1}});
  ASSERT_EQ(Start(), high);
  const auto ids = [](const std::vector<Job>& jobs) {
    std::vector<std::string> found;
    for (const Job& job : jobs) found.push_back(job.id);
    return found;
  };
  const JobsNow now = table_->Now(/*most_waiting=*/2);
  EXPECT_THAT(ids(now.running), ElementsAre(high));
  EXPECT_THAT(ids(now.waiting), ElementsAre(usual, low));
  EXPECT_FALSE(now.waiting.front().waiting_for.empty());
  EXPECT_THAT(ids(table_->Now(1).waiting), ElementsAre(usual));
  EXPECT_TRUE(table_->Now(0).waiting.empty());
}

TEST_F(JobQueueTest, AUserWhoHasHadLessGoesFirstAlsoAfterARestart) {
  const std::string first = Submit({.user = "ann"});
  const std::string second = Submit({.user = "ann"});
  const std::string of_bob = Submit({.user = "bob"});
  ASSERT_EQ(Start(), first);
  // What it has had counts from the clock, so that it is more than nothing.
  Complete(first);
  EXPECT_GT(JobOf(first).run_seconds, 0);
  Reopen();
  EXPECT_EQ(Start(), of_bob);
  Complete(of_bob);
  EXPECT_EQ(Start(), second);
}

TEST_F(JobQueueTest, DeletingJobsAndARestartGiveNoUserMore) {
  const std::string first = Submit({.user = "ann"});
  const std::string second = Submit({.user = "ann"});
  const std::string of_bob = Submit({.user = "bob"});
  ASSERT_EQ(Start(), first);
  Complete(first);
  FGNN_ASSERT_OK(table_->Remove(first).status());
  Reopen();
  EXPECT_EQ(Start(), of_bob);
  Complete(of_bob);
  EXPECT_EQ(Start(), second);
}

TEST_F(JobQueueTest, OnlyAHigherPriorityPreemptsTheRunningJob) {
  const std::string low = Submit();
  ASSERT_EQ(Start(), low);
  Submit({.user = "other"});
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kNone);
  const std::string high = Submit({.options = {.priority = 1}});
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kPriority);
  EXPECT_EQ(JobOf(high).waiting_for,
            "next; waits for job " + low + " to let go of its devices");
  table_->dispatcher().Park(low, PreemptionCause::kPriority);
  EXPECT_EQ(StateOf(low), JobState::kQueued);
  EXPECT_EQ(JobOf(low).preemptions, 1U);
  EXPECT_TRUE(JobOf(low).resume);
  EXPECT_EQ(Start(), high);
  EXPECT_EQ(table_->dispatcher().PreemptCause(high), PreemptionCause::kNone);
  Reopen();  // The one that ran goes on, the other waits as it did.
  EXPECT_EQ(JobOf(low).preemptions, 1U);
  EXPECT_EQ(Start(), high);
}

TEST_F(JobQueueTest, AnInterruptedJobGoesFirstAndThenIsPreempted) {
  const std::string low = Submit();
  ASSERT_EQ(Start(), low);
  const std::string high = Submit({.options = {.priority = 1}});
  Reopen();
  ASSERT_EQ(Start(), low);  // Its daemons may still be at work.
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kPriority);
  table_->dispatcher().Park(low, PreemptionCause::kPriority);
  EXPECT_EQ(Start(), high);
}

TEST_F(JobQueueTest, OneThatCannotBePreemptedKeepsOn) {
  const std::string low = Submit();
  ASSERT_EQ(Start(), low);
  Submit({.options = {.priority = 1}});
  ASSERT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kPriority);
  table_->dispatcher().KeepOn(low, absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kNone);
  // A pause is asked for by hand, and answered.
  FGNN_ASSERT_OK(table_->Pause(low));
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kPause);
  EXPECT_EQ(table_->PauseAnswer(low), std::nullopt);
  table_->dispatcher().KeepOn(low, absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(table_->PauseAnswer(low),
            absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(StateOf(low), JobState::kRunning);
}

TEST_F(JobQueueTest, APausedJobWaitsForContinueAlsoAfterARestart) {
  const std::string id = Submit();
  FGNN_ASSERT_OK(table_->Pause(id));
  FGNN_ASSERT_OK(table_->Pause(id));
  EXPECT_EQ(StateOf(id), JobState::kPaused);
  EXPECT_TRUE(NothingStarts());
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kPaused);
  EXPECT_EQ(table_->counts().paused, 1U);
  EXPECT_FALSE(table_->CloseIfEmpty());
  FGNN_ASSERT_OK(table_->Continue(id));
  FGNN_ASSERT_OK(table_->Continue(id));
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  ASSERT_EQ(Start(), id);
  FGNN_ASSERT_OK(table_->Pause(id));
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kPause);
  table_->dispatcher().Park(id, PreemptionCause::kPause);
  EXPECT_EQ(StateOf(id), JobState::kPaused);
  EXPECT_EQ(table_->PauseAnswer(id), absl::OkStatus());
  EXPECT_EQ(JobOf(id).preemptions, 0U);
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
  for (const absl::Status& status : {table_->Pause(id), table_->Continue(id)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("cancelled")));
  }
}

TEST_F(JobQueueTest, AnInterruptedJobIsPausedOnceItsDaemonsHaveLetGo) {
  const std::string id = Submit();
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(Start(), id);
    Reopen();
  }
  FGNN_ASSERT_OK(table_->Pause(id));
  EXPECT_EQ(table_->PauseAnswer(id), std::nullopt);
  // Others would be held back after so many interruptions.
  ASSERT_TRUE(table_->dispatcher().StartNext(Deadline::min()).has_value());
  table_->dispatcher().MarkRunning(id);
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kPause);
  table_->dispatcher().Park(id, PreemptionCause::kPause);
  EXPECT_EQ(table_->PauseAnswer(id), absl::OkStatus());
  EXPECT_EQ(StateOf(id), JobState::kPaused);
}

TEST_F(JobQueueTest, APauseThatIsTakenBackLeavesTheJobQueued) {
  const std::string id = Submit();
  ASSERT_EQ(Start(), id);
  FGNN_ASSERT_OK(table_->Pause(id));
  ASSERT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kPause);
  FGNN_ASSERT_OK(table_->Continue(id));
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kNone);
  table_->dispatcher().Park(id, PreemptionCause::kPause);  // It had begun to.
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  EXPECT_EQ(table_->PauseAnswer(id), absl::OkStatus());
}

TEST_F(JobQueueTest, ACancelledJobIsNotParked) {
  const std::string id = Submit();
  ASSERT_EQ(Start(), id);
  FGNN_ASSERT_OK(table_->Pause(id));
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kNone);
  table_->dispatcher().Park(id, PreemptionCause::kPause);
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
}

TEST_F(JobQueueTest, AJobRunsAfterThoseThatItNames) {
  const std::string first = Submit();
  const std::string second = Submit();
  const std::string last =
      Submit({.options = {.priority = 9}, .after = {first, second}});
  EXPECT_EQ(JobOf(last).waiting_for, "waits for jobs " +
                                         std::min(first, second) + ", " +
                                         std::max(first, second));
  ASSERT_EQ(Start(), first);
  EXPECT_EQ(table_->dispatcher().PreemptCause(first), PreemptionCause::kNone);
  Complete(first);
  Reopen();
  EXPECT_EQ(JobOf(last).waiting_for, "waits for job " + second);
  ASSERT_EQ(Start(), second);
  Complete(second);
  EXPECT_EQ(Start(), last);
}

TEST_F(JobQueueTest, WhereOneFailsThoseAfterItFailAndNameIt) {
  const std::string first = Submit();
  const std::string second = Submit({.after = {first}});
  const std::string third = Submit({.after = {second}});
  FGNN_ASSERT_OK(table_->Pause(third));
  ASSERT_EQ(Start(), first);
  table_->dispatcher().End(first, JobState::kFailed, absl::InternalError("no"));
  for (const std::string& id : {second, third}) {
    EXPECT_EQ(StateOf(id), JobState::kFailed);
    EXPECT_THAT(JobOf(id).error, StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("job " + first + ",")));
  }
  JobRequest late;
  late.spec = SharedJob();
  late.after = {first};
  EXPECT_THAT(
      table_->Submit(late),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(first)));
  late.after = {"nowhere"};
  EXPECT_THAT(table_->Submit(late),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("after")));
}

TEST_F(JobQueueTest, AServiceThatEndedBetweenFailsThoseAfterAtItsNextStart) {
  Job first;
  first.id = "first";
  first.spec = SharedJob();
  first.state = JobState::kFailed;
  Job second;
  second.id = "second";
  second.spec = SharedJob();
  second.after = {"first"};
  table_.reset();
  {
    JobStore store = JobStore::Open(folder_ / "jobs.sqlite").value();
    FGNN_ASSERT_OK(store.Insert(first));
    FGNN_ASSERT_OK(store.Insert(second));
  }
  Reopen();
  EXPECT_EQ(StateOf("second"), JobState::kFailed);
  EXPECT_THAT(
      JobOf("second").error,
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("first")));
}

TEST_F(JobQueueTest, AFailureThatMayMendIsTriedAgainSoManyTimes) {
  const std::string id = Submit({.options = {.retries = 2}});
  ASSERT_EQ(Start(), id);
  const auto failed_at = MonotonicClock::now();
  EXPECT_TRUE(
      table_->dispatcher().TryAgain(id, absl::UnavailableError("gone")));
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  EXPECT_EQ(JobOf(id).attempts, 1U);
  ASSERT_EQ(Start(), id);
  EXPECT_GE(MonotonicClock::now() - failed_at, std::chrono::seconds(1));
  EXPECT_TRUE(
      table_->dispatcher().TryAgain(id, absl::UnavailableError("gone")));
  Reopen();
  EXPECT_EQ(JobOf(id).attempts, 2U);
  EXPECT_TRUE(JobOf(id).resume);
  ASSERT_EQ(Start(), id);
  EXPECT_FALSE(
      table_->dispatcher().TryAgain(id, absl::UnavailableError("gone")));
  EXPECT_EQ(JobOf(id).attempts, 3U);
}

TEST_F(JobQueueTest, AFailureThatStaysIsNotTriedAgain) {
  for (const absl::Status& error :
       {absl::InvalidArgumentError("no"), absl::AbortedError("loss is nan"),
        absl::DataLossError("torn"), absl::NotFoundError("no")}) {
    const std::string id = Submit({.options = {.retries = 5}});
    ASSERT_EQ(Start(), id);
    EXPECT_FALSE(table_->dispatcher().TryAgain(id, error)) << error;
    table_->dispatcher().End(id, JobState::kFailed, error);
  }
}

TEST_F(JobQueueTest, TheTimeLimitIsOfAllStarts) {
  const std::string id = Submit({.options = {.time_limit_seconds = 1}});
  ASSERT_EQ(Start(), id);
  FGNN_ASSERT_OK(table_->Pause(id));
  table_->dispatcher().Park(id, PreemptionCause::kPause);
  table_.reset();
  {  // As if it had had devices for a while.
    JobStore store = JobStore::Open(folder_ / "jobs.sqlite").value();
    Job job = store.Unfinished().value().front();
    job.run_seconds = 2;
    FGNN_ASSERT_OK(store.Update(job));
  }
  Reopen();
  FGNN_ASSERT_OK(table_->Continue(id));
  ASSERT_EQ(Start(), id);
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kTimeIsUp);
  // Its last checkpoint is not tried again at each tick.
  table_->dispatcher().KeepOn(id, absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kNone);
  const std::string other = Submit({.options = {.time_limit_seconds = 3600}});
  table_->dispatcher().End(id, JobState::kFailed,
                           absl::DeadlineExceededError("up"));
  ASSERT_EQ(Start(), other);
  EXPECT_EQ(table_->dispatcher().PreemptCause(other), PreemptionCause::kNone);
}

TEST_F(JobQueueTest, ListsByWhatIsKnownAndGoesOnBehindAJob) {
  const std::string first = Submit({.options = {.name = "one"}, .user = "ann"});
  const std::string second = Submit({.user = "bob"});
  const std::string third = Submit({.user = "ann"});
  FGNN_ASSERT_OK(table_->Pause(third));
  const auto list = [this](const JobFilter& filter) {
    std::vector<std::string> ids;
    const std::vector<Job> jobs = table_->List(filter, 10).value();
    for (const Job& job : jobs) ids.push_back(job.id);
    return ids;
  };
  EXPECT_THAT(list({.user = "ann"}), ElementsAre(third, first));
  EXPECT_THAT(list({.states = {JobState::kPaused}}), ElementsAre(third));
  EXPECT_THAT(list({.search = "ONE"}), ElementsAre(first));
  EXPECT_THAT(list({.before_id = second}), ElementsAre(first));
  EXPECT_THAT(table_->List({.before_id = "nowhere"}, 10),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobQueueTest, WatchersOfAQueuedJobHearWhatItWaitsFor) {
  const std::string first = Submit();
  const std::string second = Submit();
  const uint64_t seen = table_->Get(second)->change;
  EXPECT_FALSE(table_->WaitForChange(second, seen, false, Deadline::min()));
  ASSERT_EQ(Start(), first);
  EXPECT_TRUE(table_->WaitForChange(second, seen, false, Deadline::min()));
  EXPECT_EQ(
      JobOf(second).waiting_for,
      "next; waits for job " + first + " to end: the service runs 1 at once");
}

}  // namespace
}  // namespace fgnn
