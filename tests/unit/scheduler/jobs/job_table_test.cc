#include "scheduler/jobs/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/files/run_folder.h"
#include "scheduler/files/run_lock.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kLong{30};
constexpr size_t kMaxQueued = 5;

JobRequest RequestOf(const std::string& spec, const std::string& key = "") {
  JobRequest request;
  request.spec_bytes = spec;
  request.client_key = key;
  return request;
}

class JobTableTest : public testing::Test {
 protected:
  JobTableTest() { Reopen(); }

  void Reopen() {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                            folder_.path(), {.max_queued = kMaxQueued})
                 .value();
  }
  std::string Submit(const std::string& key = "") {
    return table_->Submit(RequestOf("spec", key))->id;
  }
  JobState StateOf(const std::string& id) { return table_->Get(id)->job.state; }
  Job Start() {
    return table_->dispatcher().StartNext(DeadlineIn(kLong)).value();
  }

  TempFolder folder_;
  std::unique_ptr<JobTable> table_;
};

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

TEST_F(JobTableTest, AfterARestartWhatRanGoesOnBeforeWhatWaited) {
  const std::string first = Submit();
  const std::string second = Submit();
  ASSERT_EQ(Start().id, first);
  table_->dispatcher().MarkRunning(first);

  Reopen();
  EXPECT_EQ(StateOf(first), JobState::kQueued);
  EXPECT_EQ(StateOf(second), JobState::kQueued);
  EXPECT_THAT(table_->interrupted(), testing::ElementsAre(first));
  EXPECT_TRUE(table_->resumes_interrupted());
  const Job again = Start();
  EXPECT_EQ(again.id, first);
  EXPECT_TRUE(again.resume);
  table_->dispatcher().End(first, JobState::kCompleted, absl::OkStatus());
  const Job waited = Start();
  EXPECT_EQ(waited.id, second);
  EXPECT_FALSE(waited.resume);
}

TEST_F(JobTableTest, AUserHasSoManyUnfinishedJobsAndAnOperatorMore) {
  table_.reset();
  table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                          folder_.path(), {.max_of_user = 2})
               .value();
  const auto submit = [this](const std::string& user) {
    JobRequest request = RequestOf("spec");
    request.user = user;
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

TEST_F(JobTableTest, AJobThatWasBeingCancelledIsCancelledByARestart) {
  const std::string id = Submit();
  ASSERT_EQ(Start().id, id);
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
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
  namespace fs = std::filesystem;
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

TEST_F(JobTableTest, AFolderIsResumedByOneJobAtATime) {
  JobRequest request;
  request.spec_bytes = "spec";
  request.run_dir = "/run";
  request.resume = true;
  const std::string id = table_->Submit(request)->id;
  EXPECT_EQ(table_->Submit(request)->id, id);
  ASSERT_EQ(Start().id, id);
  EXPECT_EQ(table_->Submit(request)->id, id);
  table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  EXPECT_NE(table_->Submit(request)->id, id);
}

TEST_F(JobTableTest, AResumedRunKeepsItsNameWhichThenNamesTheNewestJob) {
  JobRequest request = RequestOf("spec");
  request.run_dir = "/run";
  request.name = "big";
  const std::string first = table_->Submit(request)->id;
  ASSERT_EQ(Start().id, first);
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(first));
  table_->dispatcher().End(first, JobState::kFailed, absl::InternalError("no"));
  request.name.clear();
  request.resume = true;
  request.client_key = "key";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job resumed, table_->Submit(request));
  EXPECT_NE(resumed.id, first);
  EXPECT_EQ(resumed.name, "big");
  EXPECT_EQ(table_->Submit(request)->id, resumed.id);
  EXPECT_EQ(table_->Get("big")->job.id, resumed.id);
  // A run of its own in another folder makes the name mean two jobs.
  request = RequestOf("spec");
  request.name = "big";
  FGNN_ASSERT_OK(table_->Submit(request).status());
  EXPECT_THAT(table_->Get("big"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("more than one")));
}

TEST_F(JobTableTest, AFolderOfAJobThatHasNotEndedIsNoOtherJobs) {
  JobRequest request = RequestOf("spec");
  request.run_dir = "/run/one";
  const std::string id = table_->Submit(request)->id;
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(table_->Submit(request),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         testing::AllOf(HasSubstr(id), HasSubstr("/run/one"))));
    Reopen();
  }
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_THAT(table_->Submit(request), IsOk());
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

class ResumedRunTest : public JobTableTest {
 protected:
  // Of ann, with digests, and ended.
  ResumedRunTest() {
    request_ = RequestOf("spec");
    request_.run_dir = (folder_ / "run").string();
    request_.user = "ann";
    request_.digest = true;
    id_ = table_->Submit(request_)->id;
    EXPECT_EQ(Start().id, id_);
    request_.digest = false;
    request_.resume = true;
  }
  absl::StatusOr<Job> ResumeAs(const std::string& user) {
    request_.user = user;
    return table_->Submit(request_);
  }

  JobRequest request_;
  std::string id_;
};

TEST_F(ResumedRunTest, ARunIsOfTheUserWhoseJobItIs) {
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(id_));
  // While it runs as well, where a resume by its user answers with the job.
  EXPECT_THAT(ResumeAs("bob"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(ResumeAs("ann")->id, id_);
  table_->dispatcher().End(id_, JobState::kCompleted, absl::OkStatus());
  // Jobs that never had the folder do not make it theirs.
  EXPECT_EQ(table_
                ->Submit({.spec_bytes = "spec",
                          .run_dir = request_.run_dir,
                          .user = "bob"})
                ->user,
            "bob");
  table_->dispatcher().End(Start().id, JobState::kFailed,
                           absl::UnknownError("not empty"));
  for (const char* other : {"bob", ""}) {
    EXPECT_THAT(ResumeAs(other),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         testing::AllOf(HasSubstr("user ann"), HasSubstr(id_))))
        << other;
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const Job job, ResumeAs("ann"));
  EXPECT_TRUE(job.digest) << "as the run had before";
  EXPECT_FALSE(job.trace);
  EXPECT_EQ(job.folder, FolderUse::kResume);
}

TEST_F(ResumedRunTest, RootMayResumeEveryRun) {
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(id_));
  table_->dispatcher().End(id_, JobState::kCompleted, absl::OkStatus());
  request_.client_key = "key";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job job, ResumeAs("root"));
  EXPECT_EQ(ResumeAs("root")->id, job.id) << "the same call again";
}

TEST_F(ResumedRunTest, OfARunOfAnotherServiceItsFolderSaysWhose) {
  table_->dispatcher().End(id_, JobState::kFailed,
                           absl::UnknownError("no folder yet"));
  EXPECT_THAT(RunFolder::Create(folder_ / "run", "job",
                                {.job_id = "elsewhere",
                                 .user = "carla",
                                 .digest = false,
                                 .trace = true,
                                 .service = "/elsewhere"}),
              IsOk());
  EXPECT_THAT(ResumeAs("ann"), StatusIs(absl::StatusCode::kPermissionDenied,
                                        HasSubstr("user carla")));
  FGNN_ASSERT_OK_AND_ASSIGN(const Job job, ResumeAs("carla"));
  EXPECT_TRUE(job.trace);
  EXPECT_FALSE(job.digest);
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
          {.spec_bytes = "spec", .run_dir = "/elsewhere", .client_key = "key"}),
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
  request.name = "Long One";
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
  // A name and an id of another job.
  request.name = newest.substr(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const Job alike, table_->Submit(request));
  EXPECT_THAT(table_->Get(alike.name),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(id_of(newest), newest);
}

TEST_F(JobTableTest, ARepeatedSubmissionMayNameItsJobsByAnyWord) {
  JobRequest first = RequestOf("spec", "first");
  first.name = "prepare";
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

TEST_F(JobTableTest, JobsThatHaveEndedAreRemovedUnlessOthersNeedThem) {
  const std::string first = Submit();
  JobRequest request = RequestOf("spec");
  request.after = {first};
  FGNN_ASSERT_OK_AND_ASSIGN(const Job after, table_->Submit(request));
  const auto remove = [this](const std::string& id) {
    return table_->remover().Remove(id).status();
  };
  const auto refused_for = [](const std::string& id) {
    return StatusIs(absl::StatusCode::kFailedPrecondition,
                    HasSubstr("'fgnn cancel " + id + "'"));
  };
  EXPECT_THAT(remove(first), refused_for(first));
  Start();
  EXPECT_THAT(remove(first), refused_for(first));
  table_->dispatcher().MarkRunning(first);
  table_->dispatcher().End(first, JobState::kCompleted, absl::OkStatus());
  EXPECT_THAT(remove(first), refused_for(after.id));
  FGNN_ASSERT_OK(table_->Cancel(after.id, absl::CancelledError("by hand")));
  FGNN_ASSERT_OK(remove(first));
  EXPECT_THAT(table_->Get(first), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(remove(first), StatusIs(absl::StatusCode::kNotFound));
  Reopen();
  EXPECT_THAT(table_->Get(first), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(StateOf(after.id), JobState::kCancelled);
}

TEST_F(JobTableTest, ARunThatIsGoneOnWithStays) {
  JobRequest request = RequestOf("spec");
  request.run_dir = (folder_ / "run").string();
  FGNN_ASSERT_OK_AND_ASSIGN(const Job first, table_->Submit(request));
  Start();
  FGNN_ASSERT_OK(RunFolder::Create(request.run_dir, "", {.job_id = first.id}));
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(first.id));
  table_->dispatcher().End(first.id, JobState::kFailed, absl::OkStatus());
  request.resume = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const Job second, table_->Submit(request));
  EXPECT_THAT(table_->remover().Remove(first.id),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'fgnn cancel " + second.id + "'")));
  Start();
  FGNN_ASSERT_OK(RunFolder::Keep(request.run_dir, {.job_id = second.id}));
  table_->dispatcher().MarkRunning(second.id);
  table_->dispatcher().End(second.id, JobState::kCompleted, absl::OkStatus());
  EXPECT_FALSE(*table_->remover().Remove(first.id));
  EXPECT_TRUE(std::filesystem::exists(request.run_dir));
  EXPECT_TRUE(*table_->remover().Remove(second.id));
  EXPECT_FALSE(std::filesystem::exists(request.run_dir));
}

TEST_F(JobTableTest, AClosedTableTakesAndStartsNothing) {
  Submit();
  EXPECT_FALSE(table_->CloseIfEmpty());
  table_->Close();
  EXPECT_THAT(table_->Submit(RequestOf("spec")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(table_->dispatcher().StartNext(DeadlineIn(kLong)).has_value());
}

TEST_F(JobTableTest, JobsOfAClosedTableLetGoOnlyIfTheyAreKept) {
  const std::string id = Submit();
  Start();
  table_->Close();
  EXPECT_EQ(table_->dispatcher().ShouldLetGo(id), LetGo::kNo);
  table_->Close(/*keeps_jobs=*/true);
  EXPECT_EQ(table_->dispatcher().ShouldLetGo(id), LetGo::kServiceEnds);
  table_->dispatcher().Park(id, LetGo::kServiceEnds);
  EXPECT_EQ(StateOf(id), JobState::kQueued);
  EXPECT_FALSE(table_->dispatcher().StartNext(DeadlineIn(kLong)).has_value());
}

}  // namespace
}  // namespace fgnn
