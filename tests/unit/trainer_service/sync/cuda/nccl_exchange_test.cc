// Trainers of one job, as threads, that exchange gradients by the fake NCCL:
// the weights that the board makes, whoever is late, gone or fails.
#include "trainer_service/sync/cuda/nccl_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/meeting_table.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/cuda/fake_nccl.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/sync/board_exchange.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kParameters = 4096 + 37;
constexpr uint32_t kBatchesPerStep = 4;
constexpr uint64_t kSteps = 6;
constexpr milliseconds kPatient{600'000};

std::vector<ParameterInfo> Parameters() {
  return {{.name = "weight", .shape = {4096}, .offset = 0, .decay = true},
          {.name = "mean", .shape = {37}, .offset = 4096, .measured = true}};
}

SegmentOptions OptionsFor(uint32_t members) {
  SegmentOptions options = SmallOptions();
  options.batches_per_epoch = 11;  // The last step of an epoch has three.
  options.epochs = 2;
  options.batches_per_step = kBatchesPerStep;
  options.num_parameters = kParameters;
  options.num_members = members;
  return options;
}

// Depends on the batch and on the weights, as a real one does.
void WriteGradient(BatchSeq seq, absl::Span<const float> weights,
                   absl::Span<float> gradient) {
  std::mt19937_64 random(seq.value());
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = normal(random) + weights[i];
  }
}

class NcclExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    simt::FakeDevice device;
    device.count = 2;
    simt::SetFakeDevice(device);
    simt::SetFakeNccl({});
    Begin(2);
  }

  void Begin(uint32_t members) {
    earlier_.push_back(std::move(segment_));  // Exchanges may have borrowed it.
    segment_ = Segment::Create(OptionsFor(members)).value();
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(kSteps));
  }

  std::unique_ptr<NcclExchange> Make(OwnerIndex owner) const {
    auto made = NcclExchange::Join(simt::FakeNcclApi(), options_,
                                   segment_.get(), owner);
    EXPECT_THAT(made, IsOk());
    return *std::move(made);
  }

  // Leaves a gradient on the device, as a back end does, and ruins the board's
  // copy. Returns false if the exchange wants none.
  static bool LeaveOnDevice(StepExchange& exchange, absl::Span<float> host) {
    float* const place = exchange.DevicePlaces()(host);
    if (place == nullptr) return false;
    const CudaStream stream = CudaStream::Make().value();
    EXPECT_EQ(cudaMemcpyAsync(place, host.data(), host.size() * sizeof(float),
                              cudaMemcpyHostToDevice, stream.get()),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    std::fill(host.begin(), host.end(), NAN);
    return true;
  }

  absl::Status MakeStep(const StepTensors& step, ThreadTeam& team) const {
    if (!step.is_initial()) {
      return MakeOptimizerStep(Parameters(), optimizer_, step, team);
    }
    std::fill(step.new_weights.begin(), step.new_weights.end(), 0.5F);
    std::fill(step.new_optimizer_state.begin(), step.new_optimizer_state.end(),
              0.0F);
    return absl::OkStatus();
  }

  // A trainer: marks its batches of each step done, and makes steps until there
  // are `steps`. Of W places, those with place % of == part are its own.
  absl::Status Train(StepExchange& exchange, OwnerIndex owner, uint64_t part,
                     uint64_t of, uint64_t steps = kSteps) const {
    GradientBoard board(segment_.get(), owner);
    ThreadTeam team(1);
    const auto make = [&](const StepTensors& step) {
      return MakeStep(step, team);
    };
    while (board.version().value_or(0) < steps) {
      const uint32_t seen = board.changes();
      const absl::StatusOr<bool> made = exchange.TryStep(make);
      FGNN_RETURN_IF_ERROR(made.status());
      if (*made) continue;
      const std::optional<uint64_t> version = board.version();
      if (version.has_value() && *version < steps &&
          MarkBatches(&board, owner, *version, part, of,
                      leaves_ ? &exchange : nullptr)) {
        continue;
      }
      FGNN_RETURN_IF_ERROR(board.WaitForChange(seen, DeadlineIn(kPatient)));
    }
    return absl::OkStatus();
  }

  // Returns whether there was one to mark. `left_to`: gets every second
  // gradient on the device; null: it gets none.
  bool MarkBatches(GradientBoard* board, OwnerIndex owner, uint64_t version,
                   uint64_t part, uint64_t of,
                   StepExchange* left_to = nullptr) const {
    const BatchRange batches =
        segment_->shape().BatchesOfStep(StepNumber(version));
    bool marked = false;
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      if (seq.value() % of != part || board->IsDone({seq})) continue;
      WriteGradient(seq, board->weights(version), board->gradient({seq}));
      if (left_to != nullptr && seq.value() % 4 < 2) {
        EXPECT_TRUE(LeaveOnDevice(*left_to, board->gradient({seq})));
      }
      BatchRecord record;
      record.batch_examples = static_cast<uint32_t>(5 + seq.value() % 3);
      record.trainer = owner;
      EXPECT_THAT(board->MarkDone({seq}, record), IsOk());
      marked = true;
    }
    return marked;
  }

  std::vector<float> Weights() const {
    const GradientBoard board(segment_.get(), kNoOwner);
    EXPECT_EQ(board.version(), kSteps);
    const auto weights = board.weights(kSteps);
    return {weights.begin(), weights.end()};
  }

  // Expects the weights of the same job by the board alone.
  void ExpectWeightsOfTheBoard(double tolerance = 0) {
    const std::vector<float> weights = Weights();
    Begin(0);
    BoardExchange exchange(segment_.get(), OwnerIndex{1});
    EXPECT_THAT(Train(exchange, OwnerIndex{1}, 0, 1), IsOk());
    const std::vector<float> expected = Weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], expected[i], tolerance) << i;
    }
  }

  // Two trainers with a share of the batches each; with `of` 1 the first has
  // all. Returns how many steps each has exchanged.
  std::vector<uint64_t> TrainTwo(uint64_t of = 2) {
    std::vector<std::unique_ptr<NcclExchange>> exchanges;
    for (uint16_t i = 1; i <= 2; ++i) {
      exchanges.push_back(Make(OwnerIndex{i}));
    }
    std::vector<std::thread> threads;
    for (uint16_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        EXPECT_THAT(Train(*exchanges[i],
                          OwnerIndex{static_cast<uint16_t>(i + 1)}, i, of),
                    IsOk());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return {exchanges[0]->num_exchanged(), exchanges[1]->num_exchanged()};
  }

  bool leaves_ = false;  // Whether trainers leave gradients on their devices.
  NcclExchangeOptions options_ = {.timeout = kPatient};
  OptimizerOptions optimizer_;
  std::unique_ptr<Segment> segment_;
  std::vector<std::unique_ptr<Segment>> earlier_;
};

TEST_F(NcclExchangeTest, MakesTheWeightsThatTheBoardMakes) {
  for (const double clip_norm : {0.0, 1.0}) {
    SCOPED_TRACE(clip_norm);
    optimizer_.clip_norm = clip_norm;
    Begin(2);
    simt::SetFakeNccl({});
    EXPECT_THAT(TrainTwo(), testing::Each(kSteps));
    ExpectWeightsOfTheBoard();
    const simt::FakeNcclCounts counts = simt::GetFakeNcclCounts();
    EXPECT_EQ(counts.communicators, 2U);
    EXPECT_EQ(counts.broadcasts, 2 * 22U);  // Of each batch, by both.
    EXPECT_EQ(counts.sums, 2 * kSteps);     // Of a word each.
  }
}

// Nothing comes from the other one, which has to take part all the same.
TEST_F(NcclExchangeTest, OneMayTrainAllBatches) {
  for (const bool ordered : {true, false}) {
    options_.ordered = ordered;
    Begin(2);
    EXPECT_THAT(TrainTwo(1), testing::Each(kSteps));
    ExpectWeightsOfTheBoard(ordered ? 0 : 1e-4);
  }
}

TEST_F(NcclExchangeTest, LetsNcclAddWhereTheOrderIsFree) {
  options_.ordered = false;
  for (const double clip_norm : {0.0, 1.0}) {
    SCOPED_TRACE(clip_norm);
    optimizer_.clip_norm = clip_norm;
    Begin(2);
    simt::SetFakeNccl({});
    EXPECT_THAT(TrainTwo(), testing::Each(kSteps));
    EXPECT_EQ(simt::GetFakeNcclCounts().sums, 2 * kSteps);
    EXPECT_EQ(simt::GetFakeNcclCounts().broadcasts, 0U);
    ExpectWeightsOfTheBoard(1e-4);
  }
}

// The board's copies of these are not numbers, so nobody has read them.
TEST_F(NcclExchangeTest, TakesGradientsThatWereLeftOnTheDevice) {
  for (const bool ordered : {true, false}) {
    SCOPED_TRACE(ordered);
    options_.ordered = ordered;
    leaves_ = true;
    Begin(2);
    EXPECT_THAT(TrainTwo(), testing::Each(kSteps));
    leaves_ = false;
    ExpectWeightsOfTheBoard(ordered ? 0 : 1e-4);
  }
}

TEST_F(NcclExchangeTest, WantsGradientsOfTheNextStepAlone) {
  const std::unique_ptr<NcclExchange> exchange = Make(OwnerIndex{1});
  GradientBoard board(segment_.get(), OwnerIndex{1});
  EXPECT_THAT(Train(*exchange, OwnerIndex{1}, 0, 1, /*steps=*/2), IsOk());
  const BatchRange batches = segment_->shape().BatchesOfStep(StepNumber(2));
  const DevicePlaceFinder find = exchange->DevicePlaces();
  float* const first = find(board.gradient({batches.begin}));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(find(board.gradient({batches.begin + 1})), first + kParameters);
  EXPECT_EQ(find(std::vector<float>(kParameters)), nullptr);
}

// Its successor has its index, and has no gradient of its batches.
TEST_F(NcclExchangeTest, TakesTheGradientsOfADeadTrainerFromTheBoard) {
  const std::unique_ptr<NcclExchange> first = Make(OwnerIndex{1});
  std::unique_ptr<NcclExchange> dead = Make(OwnerIndex{2});
  ThreadTeam team(1);
  const auto make = [&](const StepTensors& step) {
    return MakeStep(step, team);
  };
  ASSERT_TRUE(first->TryStep(make).value());
  GradientBoard board(segment_.get(), OwnerIndex{2});
  EXPECT_TRUE(MarkBatches(&board, OwnerIndex{2}, 0, 1, 2));
  dead.reset();
  const std::unique_ptr<NcclExchange> next = Make(OwnerIndex{2});
  std::thread trainer(
      [&] { EXPECT_THAT(Train(*first, OwnerIndex{1}, 0, 2), IsOk()); });
  EXPECT_THAT(Train(*next, OwnerIndex{2}, 1, 2), IsOk());
  trainer.join();
  EXPECT_EQ(next->num_exchanged(), kSteps);
  ExpectWeightsOfTheBoard();
}

TEST_F(NcclExchangeTest, ATrainerAloneMakesItsStepsFromTheBoard) {
  const std::unique_ptr<NcclExchange> exchange = Make(OwnerIndex{1});
  EXPECT_THAT(Train(*exchange, OwnerIndex{1}, 0, 1), IsOk());
  EXPECT_EQ(exchange->num_exchanged(), 0U);
  EXPECT_EQ(simt::GetFakeNcclCounts().communicators, 0U);
  ExpectWeightsOfTheBoard();
}

// The second trainer dies with its batches on the board; the reaper frees its
// place while the first one waits for it.
TEST_F(NcclExchangeTest, ADeathEndsTheGroupAndNoStep) {
  const std::unique_ptr<NcclExchange> first = Make(OwnerIndex{1});
  MeetingTable dead(segment_.get(), OwnerIndex{2});
  ASSERT_EQ(dead.Join(), 1U);
  GradientBoard board(segment_.get(), OwnerIndex{2});
  std::thread trainer(
      [&] { EXPECT_THAT(Train(*first, OwnerIndex{1}, 0, 2), IsOk()); });
  EXPECT_TRUE(board.WaitForVersion(0, DeadlineIn(kPatient)).value());
  MarkBatches(&board, OwnerIndex{2}, 0, 1, 2);
  // It says that it is ready, and never joins the communicator.
  while (!dead.FindId(dead.group()).has_value()) {
    const uint32_t seen = board.changes();
    dead.SayReady(1, dead.group(), StepNumber(0));
    EXPECT_THAT(board.WaitForChange(seen, DeadlineIn(kPatient)), IsOk());
  }
  EXPECT_TRUE(
      MeetingTable(segment_.get(), kNoOwner).ReclaimPlaceOf(OwnerIndex{2}));
  EXPECT_TRUE(board.WaitForVersion(1, DeadlineIn(kPatient)).value());
  EXPECT_EQ(simt::GetFakeNcclCounts().aborts, 1U);
  // Its successor and the first one meet in another group.
  const std::unique_ptr<NcclExchange> next = Make(OwnerIndex{3});
  EXPECT_THAT(Train(*next, OwnerIndex{3}, 1, 2), IsOk());
  trainer.join();
  EXPECT_EQ(next->num_exchanged(), kSteps - 1);
  ExpectWeightsOfTheBoard();
}

TEST_F(NcclExchangeTest, ATrainerThatSaysNothingIsWaitedForUntilTheDeadline) {
  options_.timeout = milliseconds(20);
  const std::unique_ptr<NcclExchange> first = Make(OwnerIndex{1});
  ASSERT_EQ(MeetingTable(segment_.get(), OwnerIndex{2}).Join(), 1U);
  // The first one does all the batches.
  const absl::Status status = Train(*first, OwnerIndex{1}, 0, 1, kSteps);
  EXPECT_THAT(status, Internal("not ready", "within 20 ms", "3 times in a row",
                               "training.sync: steps"));
  // Two steps were made from the board before.
  EXPECT_EQ(GradientBoard(segment_.get(), kNoOwner).version(), 2U);
}

TEST_F(NcclExchangeTest, AMemberThatSendsNothingIsAbortedAtTheDeadline) {
  options_.timeout = milliseconds(50);
  simt::SetFakeNccl({.silent = true});
  std::vector<std::unique_ptr<NcclExchange>> exchanges;
  for (uint16_t i = 1; i <= 2; ++i) exchanges.push_back(Make(OwnerIndex{i}));
  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (uint16_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      statuses[i] =
          Train(*exchanges[i], OwnerIndex{static_cast<uint16_t>(i + 1)}, i, 2);
      if (!statuses[i].ok()) GlobalQueue(segment_.get(), kNoOwner).Stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(absl::IsInternal(statuses[0]) || absl::IsInternal(statuses[1]))
      << statuses[0] << statuses[1];
  EXPECT_EQ(exchanges[0]->num_exchanged(), 0U);
  // The steps before were made from the board.
  EXPECT_GE(GradientBoard(segment_.get(), kNoOwner).version(), 1U);
}

TEST_F(NcclExchangeTest, FailsOnceNcclHasFailedSeveralTimes) {
  simt::SetFakeNccl({.unique_id = nccl::kSystemError});
  Begin(1);
  const std::unique_ptr<NcclExchange> exchange = Make(OwnerIndex{1});
  EXPECT_THAT(Train(*exchange, OwnerIndex{1}, 0, 1),
              Internal("3 times in a row"));
  EXPECT_EQ(GradientBoard(segment_.get(), kNoOwner).version(), 2U);
}

}  // namespace
}  // namespace fgnn
