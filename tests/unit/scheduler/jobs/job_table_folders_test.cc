// Run folders: who has one, who may go on with it, and which are removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "scheduler/files/run_folder.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/jobs/job_table_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST_F(JobTableTest, AFolderIsResumedByOneJobAtATime) {
  JobRequest request;
  request.spec = SharedJob();
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
  request.options.name = "big";
  const std::string first = table_->Submit(request)->id;
  ASSERT_EQ(Start().id, first);
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(first));
  table_->dispatcher().End(first, JobState::kFailed, absl::InternalError("no"));
  request.options.name.clear();
  request.resume = true;
  request.client_key = "key";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job resumed, table_->Submit(request));
  EXPECT_NE(resumed.id, first);
  EXPECT_EQ(resumed.options.name, "big");
  EXPECT_EQ(table_->Submit(request)->id, resumed.id);
  EXPECT_EQ(table_->Get("big")->job.id, resumed.id);
  // So does a run of its own in another folder.
  request = RequestOf("spec");
  request.options.name = "big";
  FGNN_ASSERT_OK_AND_ASSIGN(const Job other, table_->Submit(request));
  EXPECT_EQ(table_->Get("big")->job.id, other.id);
}

TEST_F(JobTableTest, FieldsOfARunChangeOnlyOnceItsJobHasEnded) {
  JobRequest request = RequestOf("spec");
  request.run_dir = "/run";
  const std::string first = table_->Submit(request)->id;
  request.resume = true;
  EXPECT_EQ(table_->Submit(request)->id, first);
  request.changes_spec = true;
  EXPECT_THAT(table_->Submit(request),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("job " + first + ", which has not ended")));
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

class ResumedRunTest : public JobTableTest {
 protected:
  // Of ann, with digests, and ended.
  ResumedRunTest() {
    request_ = RequestOf("spec");
    request_.run_dir = (folder_ / "run").string();
    request_.user = "ann";
    request_.options.digest = true;
    id_ = table_->Submit(request_)->id;
    EXPECT_EQ(Start().id, id_);
    request_.options.digest = false;
    request_.resume = true;
  }
  absl::StatusOr<Job> ResumeAs(const std::string& user) {
    request_.user = user;
    request_.by_operator = user == "root";
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
  EXPECT_EQ(
      table_
          ->Submit(
              {.spec = SharedJob(), .run_dir = request_.run_dir, .user = "bob"})
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
  EXPECT_TRUE(job.options.digest) << "as the run had before";
  EXPECT_FALSE(job.options.trace);
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
  EXPECT_TRUE(job.options.trace);
  EXPECT_FALSE(job.options.digest);
}

TEST_F(JobTableTest, JobsThatHaveEndedAreRemovedUnlessOthersNeedThem) {
  const std::string first = Submit();
  JobRequest request = RequestOf("spec");
  request.after = {first};
  FGNN_ASSERT_OK_AND_ASSIGN(const Job after, table_->Submit(request));
  const auto remove = [this](const std::string& id) {
    return table_->Remove(id).status();
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
  EXPECT_THAT(table_->Remove(first.id),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'fgnn cancel " + second.id + "'")));
  Start();
  FGNN_ASSERT_OK(RunFolder::Keep(request.run_dir, {.job_id = second.id}));
  table_->dispatcher().MarkRunning(second.id);
  table_->dispatcher().End(second.id, JobState::kCompleted, absl::OkStatus());
  EXPECT_FALSE(table_->Remove(first.id)->folder_deleted);
  EXPECT_TRUE(std::filesystem::exists(request.run_dir));
  EXPECT_TRUE(table_->Remove(second.id)->folder_deleted);
  EXPECT_FALSE(std::filesystem::exists(request.run_dir));
}

}  // namespace
}  // namespace fgnn
