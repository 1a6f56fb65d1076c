// Job stores that cannot be written for a while, or that are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/jobs/job_table.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/full_disk.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class JobStoreDamageTest : public testing::Test {
 protected:
  JobStoreDamageTest() { Reopen(); }

  void Reopen() {
    table_.reset();
    table_ = Open().value();
  }
  absl::StatusOr<std::unique_ptr<JobTable>> Open() {
    absl::StatusOr<JobStore> store = JobStore::Open(File());
    if (!store.ok()) return store.status();
    return JobTable::Open(*std::move(store), folder_.path());
  }
  fs::path File() const { return folder_ / "jobs.sqlite"; }
  // Beside the table, as somebody with another program.
  void Execute(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(File().c_str(), &database), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error),
              SQLITE_OK)
        << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(database);
  }
  void FillDisk() {
    Execute(
        "CREATE TRIGGER full BEFORE UPDATE ON jobs "
        "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  }
  void MakeRoom() { Execute("DROP TRIGGER full"); }
  std::string Submit(const std::vector<std::string>& after = {}) {
    return table_->Submit({.spec = SharedJob(), .after = after})->id;
  }
  void Start(const std::string& id) {
    const auto job = table_->dispatcher().StartNext(Deadline::min());
    ASSERT_TRUE(job.has_value());
    ASSERT_EQ(job->id, id);
    table_->dispatcher().MarkRunning(id);
  }
  JobState StateOf(const std::string& id) { return table_->Get(id)->job.state; }
  // A turn of the service.
  void Tick() {
    EXPECT_FALSE(table_->dispatcher().StartNext(Deadline::min()).has_value());
  }

  TempFolder folder_;
  std::unique_ptr<JobTable> table_;
};

TEST_F(JobStoreDamageTest, AnEndThatCannotBeStoredIsToldAndStoredLater) {
  const std::string id = Submit();
  Start(id);
  FillDisk();
  table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  EXPECT_EQ(StateOf(id), JobState::kCompleted);
  EXPECT_TRUE(table_->WaitForChange(id, UINT64_MAX, /*only_end=*/true,
                                    Deadline::min()));
  EXPECT_TRUE(table_->WaitForChange(id, UINT64_MAX, /*only_end=*/false,
                                    Deadline::min()));
  EXPECT_EQ(table_->List({}, 10)->front().state, JobState::kCompleted);
  EXPECT_THAT(table_->List({.states = {JobState::kRunning}}, 10).value(),
              IsEmpty());
  EXPECT_THAT(table_->Cancel(id, absl::CancelledError("by hand")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has already completed")));
  EXPECT_EQ(table_->counts().running, 0U);
  EXPECT_EQ(table_->counts().paused, 0U);
  EXPECT_FALSE(table_->CloseIfEmpty()) << "its end would be lost";
  Tick();
  MakeRoom();
  Tick();
  EXPECT_TRUE(table_->CloseIfEmpty());
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kCompleted);
  EXPECT_TRUE(table_->interrupted().empty());
}

TEST_F(JobStoreDamageTest, AJobThatWaitedForAnEndThatIsNotStoredGoesOn) {
  const std::string first = Submit();
  const std::string second = Submit({first});
  Start(first);
  FillDisk();
  table_->dispatcher().End(first, JobState::kCompleted, absl::OkStatus());
  const std::string third = Submit({first});
  MakeRoom();
  Start(second);
  table_->dispatcher().End(second, JobState::kCompleted, absl::OkStatus());
  Start(third);
}

TEST_F(JobStoreDamageTest, ACancelThatCannotBeStoredIsStoredAtTheStop) {
  const std::string id = Submit();
  FillDisk();
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("by hand")));
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
  EXPECT_THAT(table_->Cancel(id, absl::CancelledError("by hand")), IsOk());
  MakeRoom();
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kCancelled);
}

TEST_F(JobStoreDamageTest, APageWithoutAJobThatMatchesIsNotTheLast) {
  const std::string first = Submit();
  const std::string second = Submit();
  FillDisk();
  FGNN_ASSERT_OK(table_->Cancel(second, absl::CancelledError("by hand")));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<Job> queued,
      table_->List({.states = {JobState::kQueued}}, /*limit=*/1));
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued.front().id, first);
  MakeRoom();
}

TEST_F(JobStoreDamageTest, AFullDiskOwnsNoFolder) {
  const std::string id = Submit();
  Start(id);
  {
    const FullDisk full(0);
    EXPECT_THAT(table_->dispatcher().OwnFolder(id),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(table_->Get(id)->job.folder, FolderUse::kMake);
  }
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(id));
  Reopen();
  EXPECT_EQ(table_->Get(id)->job.folder, FolderUse::kOwn);
}

TEST_F(JobStoreDamageTest, AfterACleanEndTheStoreIsOneFile) {
  const std::string id = Submit();
  table_.reset();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("jobs.sqlite"));
  Reopen();
  EXPECT_EQ(StateOf(id), JobState::kQueued);
}

TEST_F(JobStoreDamageTest, ADamagedRowHidesNoOtherJob) {
  const std::string damaged = Submit();
  const std::string other = Submit();
  table_.reset();
  Execute("UPDATE jobs SET state = -3, devices = 'no device' WHERE id = '" +
          damaged + "'");
  Reopen();
  std::vector<std::string> ids;
  const std::vector<Job> jobs = table_->List({}, 10).value();
  for (const Job& job : jobs) ids.push_back(job.id);
  EXPECT_THAT(ids, UnorderedElementsAre(damaged, other));
  const Job shown = table_->Get(damaged)->job;
  EXPECT_EQ(shown.state, JobState::kFailed);
  EXPECT_THAT(shown.error, StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr("unknown state -3")));
  Start(other);
}

TEST_F(JobStoreDamageTest, AJobWhoseOptionsCannotBeReadDoesNotStart) {
  const std::string damaged = Submit();
  const std::string other = Submit();
  table_.reset();
  Execute("UPDATE jobs SET options = x'ff' WHERE id = '" + damaged + "'");
  Reopen();
  EXPECT_THAT(table_->Get(damaged)->job.error,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("its options cannot be read")));
  Start(other);
}

TEST_F(JobStoreDamageTest, AnEndStandsWithoutTheJobsOptions) {
  const std::string damaged = Submit();
  Start(damaged);
  const std::string next = Submit({damaged});
  table_->dispatcher().End(damaged, JobState::kCompleted, absl::OkStatus());
  table_.reset();
  Execute("UPDATE jobs SET options = x'ff' WHERE id = '" + damaged + "'");
  Reopen();
  EXPECT_EQ(StateOf(damaged), JobState::kCompleted);
  Start(next);
}

TEST_F(JobStoreDamageTest, DevicesThatAreNoneHideNoOtherJob) {
  const std::string damaged = Submit();
  Start(damaged);
  const std::string other = Submit();
  table_.reset();
  Execute("UPDATE jobs SET devices = 'no device' WHERE id = '" + damaged + "'");
  Reopen();
  EXPECT_EQ(StateOf(damaged), JobState::kQueued);
  EXPECT_EQ(StateOf(other), JobState::kQueued);
}

TEST_F(JobStoreDamageTest, ADamagedFileIsToldOfAtTheStart) {
  for (int i = 0; i < 64; ++i) Submit();
  table_.reset();
  ASSERT_GT(fs::file_size(File()), 10U * 4096);
  // The heads of three pages in the middle.
  for (const int page : {4, 5, 6}) {
    std::fstream file(File());
    file.seekp(page * 4096);
    file << std::string(64, '\x5a');
  }
  EXPECT_THAT(Open().status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       testing::AllOf(HasSubstr("is damaged"),
                                      HasSubstr(File().string()),
                                      HasSubstr(".recover"))));
  table_.reset();
}

}  // namespace
}  // namespace fgnn
