#include "trainer_service/daemon/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/files/file.h"
#include "shared/graph/npy.h"
#include "shared/queue/gradient_board.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/commands/predict_command.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kJobId[] = "job";

CallLimits Patient() {
  CallLimits limits;
  limits.deadline = DeadlineIn(std::chrono::seconds(120));
  return limits;
}

class TrainingJobTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    UseSegment(SmallSegmentOptions(kJobId));
  }

  void UseSegment(const SegmentOptions& options) {
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    queue_.emplace(segment_.get(), kNoOwner);
    board_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
  }

  // A daemon's mapping of the same segment.
  std::unique_ptr<Segment> Map() {
    auto segment = Segment::Attach(UniqueFd(::dup(segment_->fd())),
                                   segment_->options().job_key);
    EXPECT_THAT(segment, IsOk());
    return *std::move(segment);
  }

  std::unique_ptr<TrainingJob> Attach(const fs::path& dataset) {
    TrainingJobOptions options;
    options.job_id = kJobId;
    options.spec = SmallJob(dataset);
    if (change_) change_(options.spec.training);
    if (!degree_norm_.empty()) {
      options.spec.model.kind = "gcn";
      options.spec.model.degree_norm = degree_norm_;
    }
    auto backend = CpuBackend::OpenForJob(options.spec, 2);
    EXPECT_THAT(backend, IsOk());
    options.owner = OwnerIndex{2};
    options.on_failure = [this](const absl::Status& failure) {
      failure_ = failure;
      failed_.Notify();
    };
    auto job =
        TrainingJob::Start(std::move(options), *std::move(backend), Map());
    EXPECT_THAT(job, IsOk());
    return *std::move(job);
  }
  std::unique_ptr<TrainingJob> Attach() { return Attach(folder_ / "data"); }

  // Opens an epoch, samples it, waits until it is committed.
  void TrainThrough(uint64_t epoch) {
    queue_->OpenForSampling(BatchSeq((epoch + 1) * 7));
    board_->OpenForTraining(StepNumber((epoch + 1) * 3));
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    while (board_->version().value_or(0) < (epoch + 1) * 3) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      const uint32_t seen = board_->changes();
      if (SampleNext(&*sampler_, segment_->options().job_key)) continue;
      FGNN_ASSERT_OK(board_->WaitForChange(
          seen, DeadlineIn(std::chrono::milliseconds(100))));
    }
  }

  EvaluationQuery Query(std::vector<std::string> splits) {
    EvaluationQuery query;
    query.job_id = kJobId;
    query.splits = std::move(splits);
    return query;
  }

  TempFolder folder_;
  std::function<void(TrainingSpec&)> change_;  // Of the job's spec.
  std::string degree_norm_;                    // Makes the model a GCN.
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> queue_;
  std::optional<GradientBoard> board_;
  std::optional<GlobalQueue> sampler_;
  absl::Status failure_;
  Notification failed_;
};

TEST_F(TrainingJobTest, TrainsEvaluatesAndSavesAnEpochAtATime) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const EvaluationAnswer answer,
      job->Evaluate(Query({"valid", "train", "test"}), Patient()));
  ASSERT_EQ(answer.splits.size(), 3U);
  EXPECT_EQ(answer.splits[0].split, "valid");
  EXPECT_EQ(answer.splits[0].num_vertices, 30U);
  EXPECT_EQ(answer.splits[1].num_vertices, 60U);
  EXPECT_LE(answer.splits[1].num_correct, 60U);
  EXPECT_GT(answer.splits[0].loss, 0);
  EXPECT_GT(answer.splits[1].macro_f1, 0);

  const fs::path path = folder_ / "epoch-0001.safetensors";
  FGNN_ASSERT_OK_AND_ASSIGN(
      const SaveAnswer saved,
      job->SaveCheckpoint({kJobId, path, 3, 1, "state"}, Patient()));
  EXPECT_EQ(saved.version, 3U);
  EXPECT_EQ(saved.bytes, fs::file_size(path));
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
  EvaluationQuery query = Query({"valid"});
  query.checkpoint = path;
  FGNN_ASSERT_OK_AND_ASSIGN(const EvaluationAnswer again,
                            job->Evaluate(query, Patient()));
  EXPECT_EQ(again.splits[0].num_correct, answer.splits[0].num_correct);
  EXPECT_EQ(again.splits[0].loss, answer.splits[0].loss);
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
          {kJobId, folder_ / "checkpoints/epoch-0001.safetensors", 3, 1, ""},
          Patient()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               testing::HasSubstr((folder_ / "checkpoints").string())));
  EXPECT_TRUE(fs::is_empty(other));
}

TEST_F(TrainingJobTest, GoesOnFromACheckpointToTheSameWeights) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  const fs::path damaged = folder_ / "damaged.safetensors";
  std::vector<float> expected;
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()));
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
        const EvaluationAnswer answer,
        job->Evaluate(Query({"valid", "train"}), Patient()));
    ASSERT_EQ(answer.splits.size(), 2U);
    EXPECT_EQ(answer.splits[0].split, "valid");
    EXPECT_EQ(answer.splits[0].num_vertices, 30U);
    EXPECT_GT(answer.splits[0].scores().rmse.value_or(0), 0);
    EXPECT_TRUE(answer.splits[1].r2.has_value());
    FGNN_ASSERT_OK(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()));
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
    FGNN_ASSERT_OK(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()));
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

TEST_F(TrainingJobTest, GoesOnInTheMiddleOfItsWarmUp) {
  const auto warm_up = [](TrainingSpec& training) {
    training.schedule = "cosine";
    training.warmup_steps = 5;  // Of six.
  };
  const fs::path path = folder_ / "epoch-0001.safetensors";
  const auto train = [&] {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    EXPECT_THAT(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()),
                IsOk());
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

TEST_F(TrainingJobTest, SavesNoOtherWeightsThanThoseAskedFor) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  const fs::path path = folder_ / "epoch-0001.safetensors";
  EXPECT_THAT(job->SaveCheckpoint({kJobId, path, 2, 1, ""}, Patient()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::HasSubstr("version 3, not 2")));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TrainingJobTest, RefusesACheckpointOfAnotherVersion) {
  const fs::path path = folder_ / "epoch-0001.safetensors";
  {
    const std::unique_ptr<TrainingJob> job = Attach();
    TrainThrough(0);
    FGNN_ASSERT_OK(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()));
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
    FGNN_ASSERT_OK(job->SaveCheckpoint({kJobId, path, 3, 1, ""}, Patient()));
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

TEST_F(TrainingJobTest, RefusesCommandsThatMakeNoSense) {
  const std::unique_ptr<TrainingJob> job = Attach();
  TrainThrough(0);
  EXPECT_THAT(job->Evaluate(Query({"dev"}), Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("'dev'")));
  EvaluationQuery query = Query({"valid"});
  query.checkpoint = folder_ / "none.safetensors";
  EXPECT_THAT(job->Evaluate(query, Patient()),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(job->SaveCheckpoint({kJobId, "relative", 3, 1, ""}, Patient()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(job->SaveCheckpoint({kJobId, folder_ / "no" / "folder", 3, 1, ""},
                                  Patient()),
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
  job->Stop();
  EXPECT_THAT(job->Evaluate(Query({"valid"}), Patient()),
              StatusIs(absl::StatusCode::kCancelled));
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
  const uint64_t turns = job->turns();
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  while (job->turns() == turns) {
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
      FGNN_ASSERT_OK(
          job->SaveCheckpoint({kJobId, path, 3, epoch, ""}, Patient()));
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
