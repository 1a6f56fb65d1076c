#include "scheduler/jobs/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/jobs/job_table_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST_F(JobTableTest, JobsStartInTheOrderOfTheirSubmission) {
  const std::string first = Submit();
  const std::string second = Submit();
  EXPECT_NE(first, second);
  EXPECT_EQ(Start().id, first);
  EXPECT_EQ(StateOf(first), JobState::kPreparing);
  EXPECT_EQ(StateOf(second), JobState::kQueued);
  table_->dispatcher().MarkRunning(first);
  table_->dispatcher().End(first, JobState::kCompleted, absl::OkStatus());
  EXPECT_EQ(Start().id, second);
}

TEST_F(JobTableTest, AUserHasSoManyUnfinishedJobsAndAnOperatorMore) {
  table_.reset();
  table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                          folder_.path(), {.max_of_user = 2})
               .value();
  const auto submit = [this](const std::string& user) {
    JobRequest request = RequestOf("spec");
    request.user = user;
    request.by_operator = user == "root";
    return table_->Submit(request);
  };
  const std::string first = submit("ann")->id;
  FGNN_ASSERT_OK(submit("ann").status());
  EXPECT_THAT(submit("ann"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("2 jobs of ann have not ended, at most 2 of "
                                 "a user can (--max-jobs-per-user)")));
  for (int i = 0; i < 3; ++i) FGNN_ASSERT_OK(submit("root").status());
  FGNN_ASSERT_OK(submit("bob").status());
  FGNN_ASSERT_OK(table_->Cancel(first, absl::CancelledError("by hand")));
  FGNN_ASSERT_OK(submit("ann").status());
}

TEST_F(JobTableTest, TheSameKeyNamesTheSameJobAcrossRestarts) {
  const std::string id = Submit("key");
  EXPECT_EQ(Submit("key"), id);
  Reopen();
  EXPECT_EQ(Submit("key"), id);
  EXPECT_NE(Submit("other key"), id);
  EXPECT_THAT(table_->Submit(RequestOf("other spec", "key")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(id)));
  EXPECT_THAT(
      table_->Submit(
          {.spec = SharedJob(), .run_dir = "/elsewhere", .client_key = "key"}),
      StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(JobTableTest, TheSameKeyAfterAnotherJobIsAnotherRequest) {
  const std::string first = Submit();
  const std::string second = Submit();
  JobRequest request = RequestOf("spec", "key");
  request.after = {first};
  const std::string id = table_->Submit(request)->id;
  EXPECT_EQ(table_->Submit(request)->id, id);
  request.after = {second};
  EXPECT_THAT(table_->Submit(request),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(id)));
}

TEST_F(JobTableTest, AUniquePrefixNamesAJob) {
  const std::string first = Submit();
  const std::string second = Submit();
  EXPECT_EQ(table_->Get(first)->job.id, first);
  EXPECT_THAT(
      table_->Get(first.substr(0, 2)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than one")));
  EXPECT_THAT(table_->Get("nowhere"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(table_->Get(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(JobTableTest, AQueuedJobIsCancelledAtOnce) {
  const std::string id = Submit();
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
  EXPECT_THAT(table_->Cancel(id, absl::CancelledError("again")), IsOk());
  EXPECT_EQ(table_->counts().queued, 0U);
}

TEST_F(JobTableTest, ARunningJobIsCancelledByItsThread) {
  const std::string id = Submit();
  ASSERT_EQ(Start().id, id);
  table_->dispatcher().MarkRunning(id);
  EXPECT_THAT(table_->dispatcher().CancelCause(id), IsOk());
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_EQ(StateOf(id), JobState::kCancelling);
  EXPECT_THAT(table_->dispatcher().CancelCause(id),
              StatusIs(absl::StatusCode::kCancelled, "by hand"));
  table_->dispatcher().End(id, JobState::kCancelled,
                           table_->dispatcher().CancelCause(id));
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
}

TEST_F(JobTableTest, AnEndedJobCannotBeCancelled) {
  const std::string id = Submit();
  ASSERT_EQ(Start().id, id);
  table_->dispatcher().MarkRunning(id);
  table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  EXPECT_THAT(
      table_->Cancel(id, absl::CancelledError("late")),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("completed")));
}

TEST_F(JobTableTest, WatchersHearOfChangesAndOfTheEnd) {
  const std::string id = Submit();
  const uint64_t seen = table_->Get(id)->change;
  EXPECT_FALSE(table_->WaitForChange(id, seen, false, Deadline::min()));
  std::thread runner([&] {
    ASSERT_EQ(Start().id, id);
    table_->dispatcher().UpdateProgress(
        id, [](JobProgress& p) { p.epochs_done = 1; });
    ASSERT_TRUE(table_->WaitForChange(id, 0, false, DeadlineIn(kLong)));
    table_->dispatcher().MarkRunning(id);
    table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  });
  EXPECT_TRUE(table_->WaitForChange(id, seen, false, DeadlineIn(kLong)));
  EXPECT_TRUE(table_->WaitForChange(id, seen, true, DeadlineIn(kLong)));
  EXPECT_EQ(StateOf(id), JobState::kCompleted);
  EXPECT_EQ(table_->Get(id)->job.progress.epochs_done, 1U);
  runner.join();
}

TEST_F(JobTableTest, TheQueueIsBounded) {
  for (size_t i = 0; i < kMaxQueued; ++i) Submit();
  EXPECT_THAT(table_->Submit(RequestOf("spec")),
              StatusIs(absl::StatusCode::kResourceExhausted));
  Start();
  EXPECT_THAT(table_->Submit(RequestOf("spec")).status(), IsOk());
}

TEST_F(JobTableTest, AnEndIsUnseenUntilAClientWasTold) {
  EXPECT_FALSE(table_->counts().any_submitted);
  const std::string id = Submit();
  ASSERT_EQ(Start().id, id);
  table_->dispatcher().End(id, JobState::kFailed, absl::InternalError("no"));
  EXPECT_TRUE(table_->counts().any_submitted);
  EXPECT_EQ(table_->counts().ended_unseen, 1U);
  table_->MarkSeen(id);
  EXPECT_EQ(table_->counts().ended_unseen, 0U);
}

TEST_F(JobTableTest, JobsAreNamedByIdPartNameOrAsTheLastOne) {
  EXPECT_THAT(table_->Get("last"), StatusIs(absl::StatusCode::kNotFound));
  JobRequest request = RequestOf("spec");
  request.options.name = "Long One";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job named, table_->Submit(request));
  const std::string newest = Submit();
  const auto id_of = [this](const std::string& word) {
    const auto found = table_->Get(word);
    return found.ok() ? found->job.id : MessageOf(found.status());
  };
  EXPECT_EQ(id_of(named.id), named.id);
  EXPECT_EQ(id_of(named.id.substr(4)), named.id);
  EXPECT_EQ(id_of("Long One"), named.id);
  EXPECT_EQ(id_of("last"), newest);
  const std::string day = named.id.substr(0, 4);
  EXPECT_THAT(table_->Get(day),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'" + day + "' names more than one job: " +
                                 newest + ", " + named.id + "; write more")));
  // A name that is a part of another job's id.
  request.options.name = newest.substr(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const Job alike, table_->Submit(request));
  EXPECT_EQ(id_of(alike.options.name), alike.id);
  EXPECT_EQ(id_of(newest), newest);
}

TEST_F(JobTableTest, ANameMeansTheNewestJobOfTheUser) {
  const auto submit = [this](const std::string& user, const std::string& name) {
    JobRequest request = RequestOf("spec");
    request.user = user;
    request.options.name = name;
    return table_->Submit(request)->id;
  };
  const auto get = [this](const std::string& word, const std::string& user) {
    const auto found = table_->Get(word, user);
    return found.ok() ? found->job.id : MessageOf(found.status());
  };
  submit("ann", "base");
  const std::string of_ann = submit("ann", "base");
  const std::string of_bob = submit("bob", "base");
  submit("cid", "other");
  EXPECT_EQ(get("base", "ann"), of_ann);
  EXPECT_EQ(get("base", "bob"), of_bob);
  EXPECT_THAT(
      get("base", "cid"),
      HasSubstr("'base' names more than one job: " + of_bob + ", " + of_ann));
  FGNN_ASSERT_OK(table_->Cancel(of_bob, absl::CancelledError("no")));
  FGNN_ASSERT_OK(table_->Remove(of_bob).status());
  EXPECT_EQ(get("base", "cid"), of_ann);
  EXPECT_EQ(get("base", "bob"), of_ann);
}

TEST_F(JobTableTest, ARepeatedSubmissionMayNameItsJobsByAnyWord) {
  JobRequest first = RequestOf("spec", "first");
  first.options.name = "prepare";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job before, table_->Submit(first));
  for (const std::string word : {"prepare", "last"}) {
    JobRequest request = RequestOf("spec", "after " + word);
    request.after = {word};
    FGNN_ASSERT_OK_AND_ASSIGN(const Job job, table_->Submit(request));
    FGNN_ASSERT_OK_AND_ASSIGN(const Job again, table_->Submit(request));
    EXPECT_EQ(again.id, job.id);
    EXPECT_EQ(again.after, job.after);
  }
}

TEST_F(JobTableTest, AClosedTableTakesAndStartsNothing) {
  Submit();
  EXPECT_FALSE(table_->CloseIfEmpty());
  table_->Close();
  EXPECT_THAT(table_->Submit(RequestOf("spec")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(table_->dispatcher().StartNext(DeadlineIn(kLong)).has_value());
}

TEST_F(JobTableTest, JobsOfAClosedTableArePreemptedOnlyIfTheyAreKept) {
  const std::string id = Submit();
  Start();
  table_->Close();
  EXPECT_EQ(table_->dispatcher().PreemptCause(id), PreemptionCause::kNone);
  table_->Close(/*keeps_jobs=*/true);
  EXPECT_EQ(table_->dispatcher().PreemptCause(id),
            PreemptionCause::kServiceEnds);
  table_->dispatcher().Park(id, PreemptionCause::kServiceEnds);
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  EXPECT_FALSE(table_->dispatcher().StartNext(DeadlineIn(kLong)).has_value());
}

}  // namespace
}  // namespace fgnn
