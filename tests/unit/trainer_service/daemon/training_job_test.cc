#include "trainer_service/daemon/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/trainer_service/daemon/training_job_fixture.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {
namespace {

TEST_F(TrainingJobTest, TrainsEvaluatesAndSavesAnEpochAtATime) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      job->Evaluate(Query({"valid", "train", "test"}), Patient()));
  ASSERT_EQ(evaluation.scores.size(), 3U);
  EXPECT_EQ(evaluation.scores[0].split, "valid");
  EXPECT_EQ(evaluation.scores[0].num_vertices, 30U);
  EXPECT_EQ(evaluation.scores[1].num_vertices, 60U);
  EXPECT_LE(evaluation.scores[1].num_correct, 60U);
  EXPECT_GT(evaluation.scores[0].loss, 0);
  EXPECT_GT(evaluation.scores[1].scores.macro_f1, 0);

  const fs::path path = folder_ / "epoch-0001.safetensors";
  FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, ReadCheckpoint(path));
  EXPECT_EQ(checkpoint.info.version, 3U);
  EXPECT_EQ(checkpoint.info.epoch, 1U);
  EXPECT_EQ(checkpoint.info.seed, 5U);
  EXPECT_EQ(checkpoint.info.job_id, kJobId);
  EXPECT_EQ(checkpoint.info.run_state, "state");
  EXPECT_EQ(checkpoint.weights, std::vector<float>(board_->weights(3).begin(),
                                                   board_->weights(3).end()));
  const auto state = board_->optimizer_state(3);
  EXPECT_EQ(checkpoint.optimizer_state,
            std::vector<float>(state.begin(), state.end()));

  // The checkpoint scores as the weights did, also once those have moved on.
  TrainThrough(1);
  EvaluateRequest query = Query({"valid"});
  query.checkpoint = path;
  FGNN_ASSERT_OK_AND_ASSIGN(const Evaluation again,
                            job->Evaluate(query, Patient()));
  EXPECT_EQ(again.scores[0].num_correct, evaluation.scores[0].num_correct);
  EXPECT_EQ(again.scores[0].loss, evaluation.scores[0].loss);
  EXPECT_EQ(job->batches(), 14U);
  EXPECT_FALSE(failed_.HasBeenNotified());
}

// The owner of a run's folder may put a link there while the job runs.
TEST_F(TrainingJobTest, WritesNoCheckpointThroughALink) {
  const fs::path other = folder_ / "other";
  fs::create_directory(other);
  fs::create_symlink(other, folder_ / "checkpoints");
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  EXPECT_THAT(
      job->SaveCheckpoint(
          Saving(folder_ / "checkpoints/epoch-0001.safetensors"), Patient()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               testing::HasSubstr((folder_ / "checkpoints").string())));
  EXPECT_TRUE(fs::is_empty(other));
}

// Or in the place of a folder above that one, which leads to another run.
TEST_F(TrainingJobTest, WritesNoCheckpointIntoAnotherFolder) {
  fs::create_directories(folder_ / "run/checkpoints");
  fs::create_directories(folder_ / "other/checkpoints");
  const SaveCheckpointRequest request =
      Saving(folder_ / "run/checkpoints/epoch-0001.safetensors");
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  FGNN_ASSERT_OK(job->SaveCheckpoint(request, Patient()));
  fs::rename(folder_ / "run", folder_ / "moved");
  fs::create_directory_symlink(folder_ / "other", folder_ / "run");
  EXPECT_THAT(job->SaveCheckpoint(request, Patient()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::HasSubstr("checkpoints is not the folder")));
  EXPECT_TRUE(fs::is_empty(folder_ / "other/checkpoints"));
}

TEST_F(TrainingJobTest, SavesNoOtherWeightsThanThoseAskedFor) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  const fs::path path = folder_ / "epoch-0001.safetensors";
  EXPECT_THAT(job->SaveCheckpoint(Saving(path, 1, /*version=*/2), Patient()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::HasSubstr("version 3, not 2")));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TrainingJobTest, RefusesCommandsThatMakeNoSense) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  EXPECT_THAT(job->Evaluate(Query({"dev"}), Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("'dev'")));
  EvaluateRequest query = Query({"valid"});
  query.checkpoint = folder_ / "none.safetensors";
  EXPECT_THAT(job->Evaluate(query, Patient()),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(job->SaveCheckpoint(Saving(folder_ / "no" / "folder"), Patient()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(TrainingJobTest, EndsCommandsOfCallersThatAreGone) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  CallLimits gone = Patient();
  gone.is_cancelled = [] { return true; };
  EXPECT_THAT(job->Evaluate(Query({"valid"}), gone),
              StatusIs(absl::StatusCode::kCancelled));
  CallLimits late;
  late.deadline = MonotonicClock::now();
  EXPECT_THAT(job->Evaluate(Query({"valid"}), late),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  // The scheduler asks another trainer then.
  job->Stop();
  EXPECT_THAT(job->Evaluate(Query({"valid"}), Patient()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(TrainingJobTest, ReportsWhyItCannotGoOnAndStaysAlive) {
  WriteSmallDataset(folder_ / "broken", /*broken=*/true);
  const std::unique_ptr<TrainingJob> job = Attach(folder_ / "broken");
  queue_->OpenForSampling(BatchSeq(7));
  board_->OpenForTraining(StepNumber(3));
  ASSERT_TRUE(SampleNext(&*sampler_, segment_->options().job_key));
  ASSERT_TRUE(failed_.WaitUntil(DeadlineIn(std::chrono::seconds(120))));
  EXPECT_THAT(failure_, StatusIs(absl::StatusCode::kAborted));
  // Its heart still beats: it is the job that failed, not the daemon.
  const uint64_t before = job->progress();
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  while (job->progress() == before) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST_F(TrainingJobTest, LeavesAStoppedJobWithoutAFailure) {
  std::unique_ptr<TrainingJob> job = Attach();
  queue_->Stop();
  job.reset();
  EXPECT_FALSE(failed_.HasBeenNotified());
}

}  // namespace
}  // namespace fgnn
