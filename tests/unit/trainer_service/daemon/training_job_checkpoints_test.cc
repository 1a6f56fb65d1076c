// Checkpoints of a job: going on from one, which are refused, and predicting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/graph/npy.h"
#include "tests/unit/trainer_service/daemon/training_job_fixture.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/commands/predict_command.h"

namespace fgnn {
namespace {

TEST_F(TrainingJobTest, GoesOnFromACheckpointToTheSameWeights) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  const fs::path damaged = folder_ / "damaged.safetensors";
  std::vector<float> expected;
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
    TrainThrough(1);
    expected.assign(board_->weights(6).begin(), board_->weights(6).end());
  }
  fs::copy_file(path, damaged);
  fs::resize_file(damaged, fs::file_size(path) - 4);

  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.first_version = 3;
  UseSegment(options);
  const std::unique_ptr<TrainingJob> job = Attach();
  // It has no weights of its own to start from.
  EXPECT_THAT(job->Evaluate(Query({"valid"}), Patient()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(job->LoadCheckpoint(damaged, Patient()),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(board_->version(), std::nullopt);
  FGNN_ASSERT_OK(job->LoadCheckpoint(path, Patient()));
  FGNN_ASSERT_OK(job->LoadCheckpoint(path, Patient()));
  EXPECT_EQ(board_->version(), 3U);
  TrainThrough(1);
  EXPECT_EQ(
      std::vector<float>(board_->weights(6).begin(), board_->weights(6).end()),
      expected);
}

TEST_F(TrainingJobTest, GoesOnWithTargetsAndEvaluatesThem) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  WriteSmallDataset(folder_ / "numbers", false, Objective::kValues);
  change_ = [](TrainingSpec& training) { training.task = "node_regression"; };
  std::vector<float> expected;
  {
    const std::unique_ptr<TrainingJob> job = Attach(folder_ / "numbers");
    TrainThrough(0);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const Evaluation evaluation,
        job->Evaluate(Query({"valid", "train"}), Patient()));
    ASSERT_EQ(evaluation.scores.size(), 2U);
    EXPECT_EQ(evaluation.scores[0].split, "valid");
    EXPECT_EQ(evaluation.scores[0].num_vertices, 30U);
    EXPECT_GT(evaluation.scores[0].scores.rmse.value_or(0), 0);
    EXPECT_TRUE(evaluation.scores[1].scores.r2.has_value());
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
    TrainThrough(1);
    expected.assign(board_->weights(6).begin(), board_->weights(6).end());
  }
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.first_version = 3;
  UseSegment(options);
  {
    const std::unique_ptr<TrainingJob> job = Attach(folder_ / "numbers");
    FGNN_ASSERT_OK(job->LoadCheckpoint(path, Patient()));
    TrainThrough(1);
    EXPECT_EQ(std::vector<float>(board_->weights(6).begin(),
                                 board_->weights(6).end()),
              expected);
  }
  // The weights are of the same names and shapes.
  change_ = nullptr;
  UseSegment(options);
  EXPECT_THAT(Attach()->LoadCheckpoint(path, Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("node_classification here and "
                                          "node_regression there")));
}

TEST_F(TrainingJobTest, GoesOnWithTheStateOfItsOptimizer) {
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.optimizer_floats_per_parameter = 1;
  UseSegment(options);
  change_ = [](TrainingSpec& training) {
    training.optimizer = "sgd";
    training.momentum = 0.9;
  };
  const fs::path path = folder_ / "epoch-0001.safetensors";
  std::vector<float> expected;
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
    TrainThrough(1);
    expected.assign(board_->weights(6).begin(), board_->weights(6).end());
  }
  options.first_version = 3;
  UseSegment(options);
  const std::unique_ptr<TrainingJob> job = Attach();
  FGNN_ASSERT_OK(job->LoadCheckpoint(path, Patient()));
  TrainThrough(1);
  EXPECT_EQ(
      std::vector<float>(board_->weights(6).begin(), board_->weights(6).end()),
      expected);
}

TEST_F(TrainingJobTest, ACheckpointSaysIfNcclAddedInAnyOrder) {
  for (const bool deterministic : {true, false}) {
    UseSegment(SmallSegmentOptions(kJobId));
    change_ = [deterministic](TrainingSpec& training) {
      training.sync = "nccl";
      training.deterministic = deterministic;
    };
    const fs::path path = folder_ / "epoch-0001.safetensors";
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
    FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path));
    EXPECT_EQ(read.info.sync, deterministic ? "nccl" : "nccl, in any order");
  }
}

TEST_F(TrainingJobTest, SaysThatACheckpointOfAGpuGoesOnWithOtherBits) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
  }
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.first_version = 3;
  UseSegment(options);
  const std::unique_ptr<TrainingJob> job = Attach();
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string same,
                            job->LoadCheckpoint(path, Patient()));
  EXPECT_EQ(same, "");
  FGNN_ASSERT_OK_AND_ASSIGN(Checkpoint read, ReadCheckpoint(path));
  EXPECT_EQ(read.info.gpu, "");
  read.info.gpu = "NVIDIA H100";
  FGNN_ASSERT_OK(
      WriteCheckpoint(path, read.info, {read.weights, read.optimizer_state}));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string other,
                            job->LoadCheckpoint(path, Patient()));
  EXPECT_THAT(other, testing::HasSubstr("is of NVIDIA H100, and goes on with "
                                        "cores"));
}

TEST_F(TrainingJobTest, RefusesATrainerOfAnotherKindWhereBitsArePromised) {
  Attach();
  Attach();  // Of the same kind.
  UseSegment(SmallSegmentOptions(kJobId));
  segment_->AgreeOnTrainers(1);
  EXPECT_THAT(
      Start(folder_ / "data"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::AllOf(testing::HasSubstr("of one kind"),
                              testing::HasSubstr("is of cores"),
                              testing::HasSubstr("GPUs of one model"))));
  for (const std::string sync : {"nccl", "bounded_staleness"}) {
    change_ = [sync](TrainingSpec& training) {
      training.sync = sync;
      training.deterministic = false;
    };
    Attach();
  }
}

TEST_F(TrainingJobTest, GoesOnInTheMiddleOfItsWarmUp) {
  const auto warm_up = [](TrainingSpec& training) {
    training.schedule = "cosine";
    training.warmup_steps = 5;  // Of six.
  };
  const fs::path path = folder_ / "epoch-0001.safetensors";
  const auto train = [&] {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    EXPECT_THAT(job->SaveCheckpoint(Saving(path), Patient()), IsOk());
    TrainThrough(1);
    return std::vector<float>(board_->weights(6).begin(),
                              board_->weights(6).end());
  };
  const std::vector<float> constant = train();
  UseSegment(SmallSegmentOptions(kJobId));
  change_ = warm_up;
  const std::vector<float> expected = train();
  EXPECT_NE(expected, constant);
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.first_version = 3;
  UseSegment(options);
  const std::unique_ptr<TrainingJob> job = Attach();
  FGNN_ASSERT_OK(job->LoadCheckpoint(path, Patient()));
  TrainThrough(1);
  EXPECT_EQ(
      std::vector<float>(board_->weights(6).begin(), board_->weights(6).end()),
      expected);
}

TEST_F(TrainingJobTest, RefusesACheckpointOfAnotherVersion) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
  }
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.first_version = 2;
  UseSegment(options);
  const std::unique_ptr<TrainingJob> job = Attach();
  EXPECT_THAT(job->LoadCheckpoint(path, Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("version 3")));
}

// Its weights have the same names and shapes.
TEST_F(TrainingJobTest, RefusesACheckpointOfAnotherFunction) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.num_parameters =
      16 * kSmallColumns + 16 + kSmallClasses * 16 + kSmallClasses;
  UseSegment(options);
  degree_norm_ = "right";
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path), Patient()));
  }
  options.first_version = 3;
  UseSegment(options);
  degree_norm_ = "both";
  const std::unique_ptr<TrainingJob> job = Attach();
  EXPECT_THAT(job->LoadCheckpoint(path, Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("model.degree_norm is both here and "
                                          "right there")));
  EXPECT_EQ(board_->version(), std::nullopt);
}

// The checkpoint of a run is all that predict needs.
TEST_F(TrainingJobTest, ItsCheckpointPredicts) {
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    fs::create_directories(folder_ / "run" / "checkpoints");
    for (const uint32_t epoch : {1, 9999, 10000}) {
      const fs::path path = folder_ / "run" / "checkpoints" /
                            ("epoch-" + std::string(epoch == 1 ? "000" : "") +
                             std::to_string(epoch) + ".safetensors");
      FGNN_ASSERT_OK(job->SaveCheckpoint(Saving(path, epoch), Patient()));
    }
  }
  PredictOptions options;
  options.run = folder_ / "run";
  options.dataset = folder_ / "data";
  options.out = folder_ / "out.csv";
  FGNN_ASSERT_OK_AND_ASSIGN(const PredictSummary newest, RunPredict(options));
  EXPECT_EQ(newest.epoch, 10000U);
  EXPECT_EQ(newest.num_vertices, kSmallNodes);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string csv, ReadSmallFile(options.out));
  EXPECT_THAT(csv, testing::StartsWith("id,name,class,probability,class_name,"
                                       "label,label_name,split\n0,,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), kSmallNodes + 1);

  fs::create_symlink("epoch-9999.safetensors",
                     folder_ / "run" / "checkpoints" / "best.safetensors");
  options.out = folder_ / "out.npy";
  FGNN_ASSERT_OK_AND_ASSIGN(const PredictSummary best, RunPredict(options));
  EXPECT_EQ(best.epoch, 9999U);
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray classes,
                            NpyArray::Open(options.out));
  EXPECT_EQ(classes.header().type, NpyType::kI64);
  EXPECT_THAT(classes.header().shape, testing::ElementsAre(kSmallNodes));
  for (const int64_t c : classes.As<int64_t>()) {
    EXPECT_GE(c, 0);
    EXPECT_LT(c, 3);
  }

  options.out = folder_ / "out.txt";
  EXPECT_THAT(RunPredict(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                            testing::HasSubstr(".npy")));
  options.out = folder_ / "out.npy";
  options.run = folder_ / "elsewhere";
  EXPECT_THAT(RunPredict(options), StatusIs(absl::StatusCode::kNotFound));
  options.run = folder_ / "run";
  options.dataset = folder_ / "elsewhere";
  EXPECT_THAT(RunPredict(options), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
