// Checkpoints of a run that cannot be written, and what clients are told.
#include <deque>
#include <string>
#include <vector>

#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST_F(JobRunTest, TrainingGoesOnWithoutACheckpointThatCannotBeWritten) {
  calls_.evaluations = {4, 1, 1, 1, 4};
  calls_.saves = {absl::ResourceExhaustedError("disk full")};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_FALSE(HasCheckpoint("epoch-0001"));
  EXPECT_TRUE(HasCheckpoint("epoch-0004"));
  // The best epoch is the best of those that are kept.
  EXPECT_EQ(Summary()["best_epoch"], 2);
}

TEST_F(JobRunTest, TheLastCheckpointWaitsForRoom) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  const absl::Status full = absl::ResourceExhaustedError("disk full");
  const absl::Status written;
  calls_.saves = {written, written, written, full, full};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobRunTest, ClientsAreToldOfCheckpointsThatFail) {
  spec_.training.epochs = 6;
  calls_.evaluations = {1, 1, 1, 1, 1, 1, 1};
  calls_.saves = {absl::OkStatus(), absl::ResourceExhaustedError("1 full"),
                  absl::ResourceExhaustedError("2 full"), absl::OkStatus(),
                  absl::PermissionDeniedError("denied")};
  std::vector<std::string> told;
  calls_.on_evaluate = [&] {
    told.push_back(table_->Get(id_)->job.progress.checkpoint_warning);
  };
  ASSERT_EQ(Run().state, JobState::kCompleted);
  ASSERT_EQ(told.size(), 7U);
  EXPECT_EQ(told[0] + told[1], "");
  EXPECT_THAT(told[2],
              testing::AllOf(
                  HasSubstr("epoch-0002.safetensors"), HasSubstr("1 full"),
                  HasSubstr("make room on the disk of " + RunDir().string())));
  EXPECT_EQ(told[3], told[2]) << "the same kind is told once";
  EXPECT_EQ(told[4], "checkpoints are written again; 2 in a row could not be");
  EXPECT_THAT(told[5], HasSubstr("let the service's user write to"));
  EXPECT_EQ(told[6], "checkpoints are written again; 1 could not be");
}

TEST_F(JobRunTest, ThreeCheckpointsInARowThatCannotBeWrittenFailTheJob) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.saves =
      std::deque<absl::Status>(100, absl::ResourceExhaustedError("disk full"));
  const Job job = Run();
  EXPECT_GT(calls_.saves.size(), 70U);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("disk full")));
  EXPECT_EQ(Metrics().size(), 3U);
}

// Whether older checkpoints or the best one are kept in it at that moment.
TEST_F(JobRunTest, TheNextCheckpointTellsOfAFolderThatHasGone) {
  calls_.evaluations = {1, 2, 3, 4, 4};
  const fs::path moved = temp_ / "moved";
  fs::path folder;
  calls_.on_save = [&](const fs::path& path) {
    if (!folder.empty()) return;
    folder = path.parent_path();
    fs::rename(folder, moved);
  };
  std::vector<std::string> told;
  calls_.on_evaluate = [&] {
    told.push_back(table_->Get(id_)->job.progress.checkpoint_warning);
    if (told.size() == 3) fs::rename(moved, folder);
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(told[1], "");
  EXPECT_THAT(told[2], HasSubstr("make the folder " + RunDir().string()));
  EXPECT_EQ(Summary()["best_epoch"], 4);
}

}  // namespace
}  // namespace fgnn
