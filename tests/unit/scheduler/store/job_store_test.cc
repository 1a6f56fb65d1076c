#include "scheduler/store/job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "scheduler/store/progress_json.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Job SomeJob(const std::string& id) {
  Job job;
  job.id = id;
  job.spec = SharedJob();
  job.run_dir = "/runs/" + id;
  job.client_key = "key of " + id;
  job.options.digest = true;
  job.options.trace = true;
  job.submitted_ms = 1'000;
  job.progress.phase = "queued";
  job.progress.epochs = 3;
  return job;
}

std::vector<std::string> IdsOf(const std::vector<Job>& jobs) {
  std::vector<std::string> ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  return ids;
}

class JobStoreTest : public testing::Test {
 protected:
  JobStore Open() { return JobStore::Open(folder_ / "jobs.sqlite").value(); }
  TempFolder folder_;
};

TEST_F(JobStoreTest, AJobIsThereAfterReopening) {
  const Job job = SomeJob("20260101-000000-0001");
  FGNN_ASSERT_OK(Open().Insert(job));

  JobStore store = Open();
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<Job> jobs, store.Unfinished());
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, job.id);
  EXPECT_EQ(jobs[0].state, JobState::kQueued);
  EXPECT_EQ(*jobs[0].spec, *job.spec);
  EXPECT_EQ(jobs[0].run_dir, job.run_dir);
  EXPECT_EQ(jobs[0].client_key, job.client_key);
  EXPECT_TRUE(jobs[0].options.digest);
  EXPECT_TRUE(jobs[0].options.trace);
  EXPECT_EQ(jobs[0].progress.epochs, 3U);
}

TEST_F(JobStoreTest, ADeletedJobIsGone) {
  JobStore store = Open();
  FGNN_ASSERT_OK(store.Insert(SomeJob("20260101-000000-0001")));
  FGNN_ASSERT_OK(store.Insert(SomeJob("20260101-000000-0002")));
  FGNN_ASSERT_OK(store.Delete("20260101-000000-0001"));
  EXPECT_THAT(IdsOf(*store.Find({}, 10)), ElementsAre("20260101-000000-0002"));
  EXPECT_THAT(store.Delete("20260101-000000-0001"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobStoreTest, WhatADeletedJobTookIsRememberedForAMonth) {
  const auto delete_one = [this](const std::string& id, int64_t finished_ms) {
    JobStore store = Open();
    Job job = SomeJob(id);
    job.user = "ann";
    FGNN_ASSERT_OK(store.Insert(job));
    job.device_seconds = 3;
    job.finished_ms = finished_ms;
    FGNN_ASSERT_OK(store.Update(job));
    FGNN_ASSERT_OK(store.Delete(id));
  };
  constexpr int64_t kDayMs = 24 * 3600 * 1000;
  const int64_t now_ms = UnixMilliseconds();
  delete_one("one", now_ms - 31 * kDayMs);
  delete_one("two", now_ms - kDayMs);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<JobUse> uses, Open().UseSince(0));
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].user, "ann");
  EXPECT_EQ(uses[0].device_seconds, 3);
  EXPECT_EQ(uses[0].until_ms, now_ms - kDayMs);
  EXPECT_TRUE(Open().UseSince(now_ms).value().empty());
}

TEST_F(JobStoreTest, JobsThatNeedAnotherAreFoundUntilTheyEnd) {
  JobStore store = Open();
  const Job job = SomeJob("20260101-000000-0001");
  Job after = SomeJob("20260101-000000-0002");
  after.after = {"20260101-000000-0000", job.id};
  Job resumes = SomeJob("20260101-000000-0003");
  resumes.run_dir = job.run_dir;
  for (const Job& one : {job, SomeJob("20260101-000000-0004")}) {
    FGNN_ASSERT_OK(store.Insert(one));
  }
  EXPECT_EQ(*store.FindDependent(job), std::nullopt);
  for (Job needs : {after, resumes}) {
    FGNN_ASSERT_OK(store.Insert(needs));
    EXPECT_EQ(*store.FindDependent(job), needs.id);
    needs.state = JobState::kPaused;
    FGNN_ASSERT_OK(store.Update(needs));
    EXPECT_EQ(*store.FindDependent(job), needs.id);
    needs.state = JobState::kCancelled;
    FGNN_ASSERT_OK(store.Update(needs));
    EXPECT_EQ(*store.FindDependent(job), std::nullopt);
  }
}

TEST_F(JobStoreTest, AnEndedJobKeepsItsErrorAndProgress) {
  JobStore store = Open();
  Job job = SomeJob("20260101-000000-0001");
  FGNN_ASSERT_OK(store.Insert(job));
  job.state = JobState::kFailed;
  job.finished_ms = 2'000;
  job.error = absl::ResourceExhaustedError("needs 2, has 1");
  job.progress.test.accuracy = 0.25;
  job.progress.test.macro_f1 = 0.125;
  job.progress.batches_committed = uint64_t{1} << 40;
  FGNN_ASSERT_OK(store.Update(job));

  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<Job> unfinished,
                            store.Unfinished());
  EXPECT_TRUE(unfinished.empty());
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<Job> jobs, store.Find({}, 10));
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_THAT(jobs[0].error,
              StatusIs(absl::StatusCode::kResourceExhausted, "needs 2, has 1"));
  EXPECT_EQ(jobs[0].finished_ms, 2'000);
  EXPECT_EQ(jobs[0].progress.test.accuracy, 0.25);
  EXPECT_EQ(jobs[0].progress.test.macro_f1, 0.125);
  EXPECT_EQ(jobs[0].progress.test.roc_auc, std::nullopt);
  EXPECT_EQ(jobs[0].progress.valid.accuracy, std::nullopt);
  EXPECT_EQ(jobs[0].progress.batches_committed, uint64_t{1} << 40);
  EXPECT_EQ(jobs[0].progress.test.rmse, std::nullopt);
}

TEST(ProgressJsonTest, ScoresOfTargetsAreThereAgain) {
  JobProgress progress;
  progress.valid = {.rmse = 0.5, .micro_f1 = 0};
  progress.test = {.rmse = 1, .mae = 0.25, .r2 = -3, .micro_f1 = 0.75};
  const JobProgress again = ProgressFromJson(ProgressToJson(progress));
  EXPECT_EQ(again.valid.rmse, 0.5);
  EXPECT_EQ(again.valid.micro_f1, 0);
  EXPECT_EQ(again.test.rmse, 1);
  EXPECT_EQ(again.test.mae, 0.25);
  EXPECT_EQ(again.test.r2, -3);
  EXPECT_EQ(again.test.micro_f1, 0.75);
}

TEST(ProgressJsonTest, SharesOfHostsAreThereAgain) {
  JobProgress progress;
  EXPECT_TRUE(ProgressFromJson(ProgressToJson(progress)).shares.empty());
  progress.shares = {{.num_training = 2, .num_places = 3},
                     {.name = "host1",
                      .num_training = 1,
                      .num_places = 1,
                      .batches_per_second = 2.5}};
  const JobProgress again = ProgressFromJson(ProgressToJson(progress));
  ASSERT_EQ(again.shares.size(), 2U);
  EXPECT_EQ(again.shares[0].name, "");
  EXPECT_EQ(again.shares[0].num_training, 2U);
  EXPECT_EQ(again.shares[0].num_places, 3U);
  EXPECT_EQ(again.shares[1].name, "host1");
  EXPECT_EQ(again.shares[1].batches_per_second, 2.5);
  EXPECT_TRUE(ProgressFromJson(R"({"shares": [7]})").shares.empty());
}

TEST_F(JobStoreTest, FindsByPrefixAndByClientKey) {
  JobStore store = Open();
  for (const char* id : {"2026-a1", "2026-a2", "2026-b1"}) {
    FGNN_ASSERT_OK(store.Insert(SomeJob(id)));
  }
  EXPECT_THAT(IdsOf(store.FindByPrefix("2026-a", 10).value()),
              ElementsAre("2026-a1", "2026-a2"));
  EXPECT_THAT(IdsOf(store.FindByPrefix("2026", 2).value()),
              ElementsAre("2026-a1", "2026-a2"));
  // No pattern: % and _ stand for themselves.
  EXPECT_THAT(IdsOf(store.FindByPrefix("2026-_", 10).value()), ElementsAre());
  EXPECT_THAT(IdsOf(store.Find({}, 2).value()),
              ElementsAre("2026-b1", "2026-a2"));
  EXPECT_EQ(store.FindByClientKey("key of 2026-b1").value()->id, "2026-b1");
  EXPECT_FALSE(store.FindByClientKey("no such key").value().has_value());
}

TEST_F(JobStoreTest, RefusesTheSameIdAndTheSameKey) {
  JobStore store = Open();
  FGNN_ASSERT_OK(store.Insert(SomeJob("one")));
  EXPECT_THAT(store.Insert(SomeJob("one")),
              StatusIs(absl::StatusCode::kAlreadyExists));
  Job other = SomeJob("two");
  other.client_key = "key of one";
  EXPECT_THAT(store.Insert(other), StatusIs(absl::StatusCode::kAlreadyExists));
  // Jobs without a key are not the same.
  Job third = SomeJob("three");
  Job fourth = SomeJob("four");
  third.client_key.clear();
  fourth.client_key.clear();
  EXPECT_THAT(store.Insert(third), IsOk());
  EXPECT_THAT(store.Insert(fourth), IsOk());
}

TEST_F(JobStoreTest, AReaderSeesWhatWasCommittedAndChangesNothing) {
  JobStore store = Open();
  FGNN_ASSERT_OK_AND_ASSIGN(JobStore reader, store.OpenReader());
  FGNN_ASSERT_OK(store.Insert(SomeJob("one")));
  EXPECT_THAT(IdsOf(reader.Find({}, 10).value()), ElementsAre("one"));
  FGNN_ASSERT_OK(store.Begin());
  FGNN_ASSERT_OK(store.Insert(SomeJob("two")));
  EXPECT_THAT(IdsOf(reader.Find({}, 10).value()), ElementsAre("one"));
  FGNN_ASSERT_OK(store.Commit());
  EXPECT_THAT(IdsOf(reader.Find({}, 10).value()), ElementsAre("two", "one"));
  EXPECT_FALSE(reader.Insert(SomeJob("three")).ok());
}

TEST_F(JobStoreTest, OnlyTheUserMayReadTheFiles) {
  const auto path = folder_ / "jobs.sqlite";
  for (int start = 0; start < 2; ++start) {
    JobStore store = Open();
    FGNN_ASSERT_OK(store.Insert(SomeJob(std::to_string(start))));
    for (const char* ending : {"", "-wal", "-shm"}) {
      const auto mode =
          std::filesystem::status(path.string() + ending).permissions();
      EXPECT_EQ(mode, std::filesystem::perms(0600)) << ending;
      // As a copy of it may be.
      std::filesystem::permissions(path.string() + ending,
                                   std::filesystem::perms(0644));
    }
  }
}

TEST_F(JobStoreTest, GenerationsRiseAcrossStarts) {
  EXPECT_EQ(Open().NextGeneration().value(), 1U);
  EXPECT_EQ(Open().NextGeneration().value(), 2U);
}

TEST_F(JobStoreTest, SaysThatAFileIsNoStore) {
  std::ofstream(folder_ / "jobs.sqlite")
      << std::string(4096, 'x') << "no database";
  EXPECT_THAT(JobStore::Open(folder_ / "jobs.sqlite"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("jobs.sqlite")));
}

TEST_F(JobStoreTest, ChangingAJobThatIsNotThereIsAnError) {
  EXPECT_THAT(Open().Update(SomeJob("none")),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobStoreTest, EveryFieldIsThereAfterReopening) {
  Job job = SomeJob("one");
  job.user = "ann";
  job.file_user = "1000:1000,4";
  job.options.name = "a name";
  job.options.priority = -7;
  job.after = {"a", "b"};
  job.options.retries = 3;
  job.options.time_limit_seconds = 60;
  FGNN_ASSERT_OK(Open().Insert(job));
  job.state = JobState::kPaused;
  job.attempts = 2;
  job.preemptions = 4;
  job.run_seconds = 1.5;
  job.device_seconds = 3;
  job.devices = Devs({"cpu:0-1", "cpu:3"});
  job.folder = FolderUse::kOwn;
  FGNN_ASSERT_OK(Open().Update(job));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<Job> jobs, Open().Unfinished());
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].state, JobState::kPaused);
  EXPECT_EQ(jobs[0].user, "ann");
  EXPECT_EQ(jobs[0].options.name, "a name");
  EXPECT_EQ(jobs[0].options.priority, -7);
  EXPECT_THAT(jobs[0].after, ElementsAre("a", "b"));
  EXPECT_EQ(jobs[0].options.retries, 3U);
  EXPECT_EQ(jobs[0].options.time_limit_seconds, 60U);
  EXPECT_EQ(jobs[0].attempts, 2U);
  EXPECT_EQ(jobs[0].preemptions, 4U);
  EXPECT_EQ(jobs[0].run_seconds, 1.5);
  EXPECT_EQ(jobs[0].device_seconds, 3);
  EXPECT_THAT(jobs[0].devices, ElementsAre("cpu:0-1", "cpu:3"));
  EXPECT_EQ(jobs[0].folder, FolderUse::kOwn);
  EXPECT_EQ(jobs[0].file_user, "1000:1000,4");
  EXPECT_EQ(Open().UseSince(0).value().front().device_seconds, 3);
}

TEST_F(JobStoreTest, JobsAreFoundByWhatIsKnownOfThem) {
  JobStore store = Open();
  const auto add = [&store](const std::string& id, JobState state,
                            const std::string& user, const std::string& name) {
    Job job = SomeJob(id);
    job.user = user;
    job.options.name = name;
    job.spec = SharedJob("/data/Papers");
    FGNN_ASSERT_OK(store.Insert(job));
    job.state = state;
    if (state == JobState::kFailed) job.error = absl::InternalError("it BROKE");
    FGNN_ASSERT_OK(store.Update(job));
  };
  add("one", JobState::kCompleted, "ann", "first try");
  add("two", JobState::kFailed, "bob", "");
  add("three", JobState::kQueued, "ann", "100% of it_all");
  const auto find = [&store](const JobFilter& filter, uint32_t limit = 10) {
    return IdsOf(store.Find(filter, limit).value());
  };
  EXPECT_THAT(find({.user = "ann"}), ElementsAre("three", "one"));
  EXPECT_THAT(find({.states = {JobState::kFailed, JobState::kQueued}}),
              ElementsAre("three", "two"));
  EXPECT_THAT(find({.states = {JobState::kCompleted}, .user = "bob"}),
              ElementsAre());
  EXPECT_THAT(find({.search = "broke"}), ElementsAre("two"));
  EXPECT_THAT(find({.search = "FIRST"}), ElementsAre("one"));
  EXPECT_THAT(find({.search = "papers"}), ElementsAre("three", "two", "one"));
  EXPECT_THAT(find({.search = "/runs/tw"}), ElementsAre("two"));
  // No pattern: % and _ stand for themselves.
  EXPECT_THAT(find({.search = "%"}), ElementsAre("three"));
  EXPECT_THAT(find({.before_id = "three"}, 1), ElementsAre("two"));
  EXPECT_THAT(find({.before_id = "two"}), ElementsAre("one"));
}

}  // namespace
}  // namespace fgnn
