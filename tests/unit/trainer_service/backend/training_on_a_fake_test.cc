// The work loop on a device that it knows nothing of, and with steps that come
// from elsewhere than the board.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/backend/fake_backend.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/daemon/training_job.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr char kJobId[] = "job";
constexpr OwnerIndex kTrainer{2};
constexpr uint64_t kSteps = 6;  // Two epochs: steps of 3, 3 and 1 batches.
constexpr BatchSeq kBatches(14);

class TrainingOnAFakeTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    StartOver();
  }

  void StartOver() {
    SegmentOptions options = SmallSegmentOptions(kJobId);
    options.num_parameters = kFakeParameters;
    options.hidden_on_gpu = 1;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    backend_ = FakeBackend::Open(folder_ / "data");
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
    sampler_->OpenForSampling(kBatches);
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(kSteps));
  }

  JobSpec Spec(uint32_t ahead = 0) {
    JobSpec spec = SmallJob(folder_ / "data");
    spec.features.ahead = ahead;
    return spec;
  }

  std::vector<float> ExpectedWeights() {
    std::vector<float> weights = FakeStep({}, {}, {});
    for (uint64_t step = 0; step < kSteps; ++step) {
      const BatchRange batches =
          segment_->shape().BatchesOfStep(StepNumber(step));
      std::vector<std::vector<float>> gradients;
      std::vector<uint32_t> num_seeds;
      for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
        std::vector<float>& gradient = gradients.emplace_back();
        for (uint64_t i = 0; i < kFakeParameters; ++i) {
          gradient.push_back(FakeGradient(weights[i], seq, i));
        }
        num_seeds.push_back(seq.value() % 7 == 6 ? 3 : 8);
      }
      weights =
          FakeStep(weights, {gradients.begin(), gradients.end()}, num_seeds);
    }
    return weights;
  }

  TempFolder folder_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<FakeBackend> backend_;
  std::optional<GlobalQueue> sampler_;
};

TEST_F(TrainingOnAFakeTest, TrainsAJobOnTheBoard) {
  for (const uint32_t ahead : {0U, 2U}) {
    SCOPED_TRACE(ahead);
    StartOver();
    BoardExchange steps(segment_.get(), kTrainer);
    JobTrainer trainer(Spec(ahead), backend_.get(), &steps, segment_.get(),
                       kTrainer);
    const GradientBoard board(segment_.get(), kNoOwner);
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    FGNN_ASSERT_OK(trainer.DoNext());  // The first weights.
    for (int batch = 0; batch < 3; ++batch) {
      ASSERT_TRUE(SampleNext(&*sampler_, segment_->options().job_key));
    }
    while (backend_->progress(TrainerThread::kAhead) < ahead) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      std::this_thread::yield();
    }
    while (board.version() != kSteps) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      SampleNext(&*sampler_, segment_->options().job_key);
      FGNN_ASSERT_OK(trainer.DoNext());
    }
    EXPECT_THAT(board.weights(kSteps),
                testing::ElementsAreArray(ExpectedWeights()));
    EXPECT_EQ(backend_->progress(TrainerThread::kLoop) +
                  backend_->progress(TrainerThread::kAhead),
              kBatches.value());
    const std::optional<BatchRecord> record = board.record({kBatches - 1});
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->num_cache_hits, record->num_input_nodes);
    EXPECT_EQ(record->loss, 0.5F);
  }
}

TEST_F(TrainingOnAFakeTest, EvaluatesAsTheDeviceDoes) {
  TrainingJobOptions options;
  options.job_id = kJobId;
  options.spec = Spec();
  options.owner = kTrainer;
  FGNN_ASSERT_OK_AND_ASSIGN(std::unique_ptr<Segment> segment,
                            Segment::Attach(UniqueFd(::dup(segment_->fd())),
                                            segment_->options().job_key));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<TrainingJob> job,
      TrainingJob::Start(std::move(options), std::move(backend_),
                         std::move(segment)));
  CallLimits limits;
  limits.deadline = DeadlineIn(std::chrono::seconds(60));
  GradientBoard board(segment_.get(), kNoOwner);
  FGNN_ASSERT_OK_AND_ASSIGN(const bool there,
                            board.WaitForVersion(0, limits.deadline));
  ASSERT_TRUE(there);
  EvaluateRequest query;
  query.splits = {"valid"};
  FGNN_ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                            job->Evaluate(query, limits));
  ASSERT_EQ(evaluation.scores.size(), 1U);
  EXPECT_EQ(evaluation.scores[0].num_vertices, kSmallNodes / 4);
  EXPECT_EQ(evaluation.scores[0].num_correct, 1U);
  EXPECT_EQ(evaluation.scores[0].loss,
            1);  // The plan lets it keep hidden states.
}

// The board's, with places on a device.
class StepsWithPlaces final : public StepExchange {
 public:
  StepsWithPlaces(Segment* segment, int* asked)
      : on_board_(segment, kTrainer), asked_(asked) {}
  absl::StatusOr<bool> TryStep(Make make) override {
    return on_board_.TryStep(make);
  }
  DevicePlaceFinder DevicePlaces() override {
    return [asked = asked_](absl::Span<const float>) -> float* {
      ++*asked;
      return nullptr;
    };
  }

 private:
  BoardExchange on_board_;
  int* const asked_;
};

TEST_F(TrainingOnAFakeTest, LeavesGradientsWhereTheExchangeSays) {
  int asked = 0;
  TrainingJobOptions options;
  options.job_id = kJobId;
  options.spec = Spec();
  options.owner = kTrainer;
  options.exchanges = [&asked](const ExchangeOfJob& job) {
    return std::make_unique<StepsWithPlaces>(job.segment, &asked);
  };
  FGNN_ASSERT_OK_AND_ASSIGN(std::unique_ptr<Segment> segment,
                            Segment::Attach(UniqueFd(::dup(segment_->fd())),
                                            segment_->options().job_key));
  FGNN_ASSERT_OK(TrainingJob::Start(std::move(options), std::move(backend_),
                                    std::move(segment))
                     .status());
  EXPECT_EQ(asked, 1);
}

TEST_F(TrainingOnAFakeTest, IsProfiledAsAnyOther) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile needs,
      ProfileTraining(Spec(/*ahead=*/2), std::vector<HopSize>{{8, 40, 60}}, 1,
                      [](const JobSpec& spec, int) {
                        return FakeBackend::Open(spec.dataset);
                      }));
  EXPECT_EQ(needs.num_parameters, kFakeParameters);
  EXPECT_EQ(needs.step_bytes, 0U);  // All of it is the device's.
  ASSERT_TRUE(needs.gpu.has_value());
  EXPECT_EQ(needs.gpu->total_bytes, 100U << 20);
  EXPECT_EQ(needs.gpu->free_bytes, 90U << 20);
  // 40 vertices of each batch that waits.
  EXPECT_EQ(needs.gpu->work_bytes, (1U << 20) + 2 * 40);
  EXPECT_EQ(needs.gpu->evaluation_bytes, 5U);
  EXPECT_EQ(needs.gpu->hidden_bytes, 6U);
}

// As another host would send them.
class StepsFromElsewhere final : public StepExchange {
 public:
  absl::StatusOr<bool> TryStep(Make make) override {
    if (steps_ == gradients_.size()) return false;
    std::vector<float> next(kFakeParameters);
    StepTensors step;
    step.step_number = steps_;
    step.old_weights = weights_;
    step.new_weights = absl::MakeSpan(next);
    if (steps_ > 0) {
      step.gradients = {gradients_[steps_]};
      step.batch_examples = {5};
    }
    const absl::Status made = make(step);
    if (!made.ok()) return made;
    weights_ = next;
    ++steps_;
    return true;
  }
  const std::vector<float>& weights() const { return weights_; }

 private:
  const std::vector<std::vector<float>> gradients_ = {{}, {2, 2, 4, 4}};
  size_t steps_ = 0;
  std::vector<float> weights_;
};

TEST_F(TrainingOnAFakeTest, MakesStepsThatComeFromElsewhere) {
  StepsFromElsewhere steps;
  JobTrainer trainer(Spec(), backend_.get(), &steps, segment_.get(), kTrainer);
  EXPECT_TRUE(trainer.DoNext().value());
  EXPECT_THAT(steps.weights(), testing::ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(trainer.DoNext().value());
  EXPECT_THAT(steps.weights(), testing::ElementsAre(0, 1, 1, 2));
  EXPECT_FALSE(trainer.DoNext().value());
}

// The exchange has first weights already, so that the next step is no place for
// those of a checkpoint.
TEST_F(TrainingOnAFakeTest, PublishesNoCheckpointOverWeightsOfAnother) {
  StepsFromElsewhere steps;
  JobTrainer trainer(Spec(), backend_.get(), &steps, segment_.get(), kTrainer);
  ASSERT_TRUE(trainer.DoNext().value());
  const std::vector<float> checkpoint = {9, 9, 9, 9};
  EXPECT_THAT(trainer.PublishFirst(
                  {.version = 0, .weights = checkpoint, .optimizer_state = {}}),
              Unavailable());
  EXPECT_THAT(steps.weights(), testing::ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace fgnn
