// Trainers in processes of their own that exchange gradients over gloo: the
// same weights as the gradient board makes, and no hang when one is gone.
#include "trainer_service/sync/gloo_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fault/child_process.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/sync/board_exchange.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr uint32_t kMembers = 2;
constexpr uint32_t kBatchesPerStep = 4;
constexpr uint64_t kBatchesPerEpoch = 7;  // Its last step has three.
constexpr uint64_t kEpochs = 2;
constexpr uint64_t kSeed = 11;
// Nobody in these tests takes so long.
constexpr milliseconds kPatient{60'000};

SegmentOptions OptionsFor(uint64_t num_parameters) {
  SegmentOptions options;
  options.job_key = 1;
  options.num_slots = 1;
  options.slot_bytes = 4096;
  options.batches_per_epoch = kBatchesPerEpoch;
  options.epochs = kEpochs;
  options.batches_per_step = kBatchesPerStep;
  options.num_parameters = num_parameters;
  return options;
}

// A model, and the gradients of a job's batches.
class Training {
 public:
  Training() : team_(1) {
    options_.layers = 2;
    options_.hidden = 16;
    options_.input_columns = 12;
    options_.num_classes = 5;
    options_.dropout = 0.5;
    model_ = *MakeCpuModel(options_, &team_);
    optimizer_.num_steps = JobShape(OptionsFor(num_parameters())).num_steps();
  }

  uint64_t num_parameters() const { return model_->num_parameters(); }
  uint64_t num_steps() const { return optimizer_.num_steps; }
  const Model& model() const { return *model_; }
  const OptimizerOptions& optimizer() const { return optimizer_; }
  ThreadTeam& team() { return team_; }

  // The seeds of the batch, whose gradient is written.
  uint32_t Gradient(absl::Span<const float> weights, BatchSeq seq,
                    absl::Span<float> gradient) {
    const auto num_seeds =
        seq.value() % 3 == 1 ? 0 : static_cast<uint32_t>(9 + seq.value() % 5);
    RandomBatch batch(
        {.model = options_, .num_seeds = num_seeds, .seed = seq.value() + 100});
    TrainingBatch given = batch.batch();
    given.seed = kSeed;
    given.batch = seq.value();
    const auto result = model_->Gradient(weights, given, gradient);
    EXPECT_THAT(result, IsOk());
    return num_seeds;
  }

 private:
  ModelOptions options_;
  OptimizerOptions optimizer_;
  ThreadTeam team_;
  std::unique_ptr<Model> model_;
};

// Weights, then the optimizer's state.
std::vector<float> TrainOnTheBoard() {
  Training training;
  const auto segment =
      Segment::Create(OptionsFor(training.num_parameters())).value();
  GradientBoard board(segment.get(), OwnerIndex{1});
  BoardExchange exchange(segment.get(), OwnerIndex{1});
  const auto make_step = [&] {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const bool made, exchange.TryStep([&](const StepTensors& step) {
          return MakeStep(training.model(), kSeed, training.optimizer(), step,
                          training.team());
        }));
    ASSERT_TRUE(made);
  };
  board.OpenForTraining(StepNumber(training.num_steps()));
  make_step();
  for (uint64_t step = 0; step < training.num_steps(); ++step) {
    const BatchRange batches = segment->shape().BatchesOfStep(StepNumber(step));
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      BatchRecord record;
      record.num_seeds =
          training.Gradient(board.weights(step), seq, board.gradient(seq));
      EXPECT_THAT(board.MarkDone(seq, record), IsOk());
    }
    make_step();
  }
  const auto weights = board.weights(training.num_steps());
  std::vector<float> all(weights.begin(), weights.end());
  const auto state = board.optimizer_state(training.num_steps());
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

// What a trainer of the group is at the beginning of a step.
struct Trained {
  std::vector<float> weights;
  std::vector<float> state;
};

// The steps of a trainer that shares no memory with the others: each has all
// gradients, and weights of its own.
class GlooSteps final : public StepExchange {
 public:
  GlooSteps(GlooExchange* exchange, Trained first)
      : exchange_(exchange), trained_(std::move(first)) {}

  const Trained& trained() const { return trained_; }
  // This member's share of the next step. The gradients are borrowed.
  void Give(StepGradients own) { own_ = std::move(own); }

  absl::StatusOr<bool> TryStep(Make make) override {
    FGNN_ASSIGN_OR_RETURN(const StepGradients all, exchange_->AllGather(own_));
    Trained next = trained_;
    StepTensors step;
    step.step_number = ++steps_;
    step.old_weights = trained_.weights;
    step.old_optimizer_state = trained_.state;
    step.new_weights = absl::MakeSpan(next.weights);
    step.new_optimizer_state = absl::MakeSpan(next.state);
    step.gradients = all.gradients;
    step.num_seeds = all.num_seeds;
    FGNN_RETURN_IF_ERROR(make(step));
    trained_ = std::move(next);
    return true;
  }

 private:
  GlooExchange* const exchange_;
  Trained trained_;
  StepGradients own_;
  uint64_t steps_ = 0;
};

// One step with the gradients of all members.
absl::Status TrainStep(Training& training, uint64_t step, uint32_t rank,
                       GlooSteps& steps) {
  const JobShape shape(OptionsFor(training.num_parameters()));
  const BatchRange batches = shape.BatchesOfStep(StepNumber(step));
  const uint64_t share = kBatchesPerStep / kMembers;
  std::vector<std::vector<float>> gradients;
  StepGradients own;
  for (BatchSeq seq = batches.begin + rank * share;
       seq < std::min(batches.begin + (rank + 1) * share, batches.end); ++seq) {
    gradients.emplace_back(training.num_parameters());
    own.num_seeds.push_back(training.Gradient(
        steps.trained().weights, seq, absl::MakeSpan(gradients.back())));
  }
  for (const auto& gradient : gradients) own.gradients.push_back(gradient);
  steps.Give(std::move(own));
  const auto make = [&](const StepTensors& tensors) -> absl::Status {
    if (tensors.gradients.size() != batches.size()) {
      return absl::InternalError(
          absl::StrCat(tensors.gradients.size(), " gradients in step ", step));
    }
    return MakeStep(training.model(), kSeed, training.optimizer(), tensors,
                    training.team());
  };
  return steps.TryStep(make).status();
}

Trained FirstWeights(const Training& training) {
  Trained first;
  first.weights.resize(training.num_parameters());
  training.model().Initialize(kSeed, absl::MakeSpan(first.weights));
  first.state.resize(training.num_parameters() *
                     StateFloatsPerParameter(training.optimizer()));
  return first;
}

class GlooExchangeTest : public testing::Test {
 protected:
  // As daemons do (SignalWaiter). Children inherit it.
  GlooExchangeTest() { ::signal(SIGPIPE, SIG_IGN); }

  absl::StatusOr<std::unique_ptr<GlooExchange>> Join(
      uint32_t rank, uint64_t num_parameters, milliseconds timeout) const {
    ExchangeOptions options;
    options.meeting_file = folder_ / "meeting";
    options.rank = rank;
    options.num_members = kMembers;
    options.address = "127.0.0.1";
    options.timeout = timeout;
    options.num_parameters = num_parameters;
    options.batches_per_member = kBatchesPerStep / kMembers;
    return GlooExchange::Join(options);
  }

  fs::path OutcomeOf(uint32_t rank) const {
    return folder_ / absl::StrCat("outcome-", rank);
  }

  // Of a child: trains the steps, writes weights and state, or the error.
  void Train(uint32_t rank, milliseconds timeout) const {
    Training training;
    std::ofstream outcome(OutcomeOf(rank), std::ios::binary);
    const auto exchange = Join(rank, training.num_parameters(), timeout);
    if (!exchange.ok()) {
      outcome << exchange.status().ToString();
      return;
    }
    GlooSteps steps(exchange->get(), FirstWeights(training));
    absl::Status status;
    for (uint64_t step = 0; status.ok() && step < training.num_steps();
         ++step) {
      status = TrainStep(training, step, rank, steps);
    }
    if (!status.ok()) {
      outcome << status.ToString();
      return;
    }
    const auto write = [&outcome](const std::vector<float>& values) {
      outcome.write(reinterpret_cast<const char*>(values.data()),
                    static_cast<std::streamsize>(values.size() * 4));
    };
    write(steps.trained().weights);
    write(steps.trained().state);
  }

  // Of a child: makes one step with the others, then reports.
  void TrainOneStep(uint32_t rank, const Report& report) const {
    Training training;
    const auto exchange = Join(rank, training.num_parameters(), kPatient);
    if (exchange.ok()) {
      GlooSteps steps(exchange->get(), FirstWeights(training));
      if (TrainStep(training, 0, rank, steps).ok()) report();
    }
    WaitToBeKilled();
  }

  TempFolder folder_;
};

TEST_F(GlooExchangeTest, MakesTheWeightsThatTheBoardMakes) {
  std::vector<Child> children;
  for (uint32_t rank = 0; rank < kMembers; ++rank) {
    children.push_back(Child::Start([&] { Train(rank, kPatient); }));
  }
  for (Child& child : children) EXPECT_EQ(child.Join(), 0);
  const std::vector<float> expected = TrainOnTheBoard();
  for (uint32_t rank = 0; rank < kMembers; ++rank) {
    FGNN_ASSERT_OK_AND_ASSIGN(const std::string outcome,
                              ReadSmallFile(OutcomeOf(rank)));
    ASSERT_EQ(outcome.size(), expected.size() * sizeof(float)) << outcome;
    EXPECT_EQ(std::memcmp(outcome.data(), expected.data(), outcome.size()), 0)
        << "the weights of rank " << rank << " are not those of the board";
  }
}

TEST_F(GlooExchangeTest, APeerThatIsKilledIsAnErrorAndNoHang) {
  Reports reports;
  Child survivor = Child::Start([&] { Train(0, kPatient); });
  Child victim = Child::Start([&] { TrainOneStep(1, reports.report()); });
  ASSERT_TRUE(reports.Await(1));
  victim.Kill();
  EXPECT_EQ(survivor.Join(), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string outcome,
                            ReadSmallFile(OutcomeOf(0)));
  EXPECT_THAT(outcome, testing::StartsWith("UNAVAILABLE"));
  EXPECT_THAT(outcome, HasSubstr("trainer 0 of 2"));
}

TEST_F(GlooExchangeTest, APeerThatSaysNothingIsWaitedForUntilTheDeadline) {
  const Reports reports;
  // It lives on with its connections.
  Child silent = Child::Start([&] { TrainOneStep(1, reports.report()); });
  Child waiting = Child::Start([&] { Train(0, milliseconds(2'000)); });
  EXPECT_EQ(waiting.Join(), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string outcome,
                            ReadSmallFile(OutcomeOf(0)));
  EXPECT_THAT(outcome, testing::StartsWith("DEADLINE_EXCEEDED"));
  EXPECT_THAT(outcome, HasSubstr("within 2000 ms"));
}

TEST_F(GlooExchangeTest, AMemberThatNeverComesIsWaitedForUntilTheDeadline) {
  Child alone = Child::Start([&] { Train(0, milliseconds(500)); });
  EXPECT_EQ(alone.Join(), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string outcome,
                            ReadSmallFile(OutcomeOf(0)));
  EXPECT_THAT(outcome, testing::StartsWith("DEADLINE_EXCEEDED"));
  EXPECT_THAT(outcome, HasSubstr("cannot join"));
}

// In this process alone, after all that fork.
TEST_F(GlooExchangeTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      Join(/*rank=*/2, 10, kPatient),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2 of 2")));
  EXPECT_THAT(
      Join(0, /*num_parameters=*/0, kPatient),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 parameters")));
}

}  // namespace
}  // namespace fgnn
