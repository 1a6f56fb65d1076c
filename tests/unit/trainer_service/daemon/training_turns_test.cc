// Jobs whose devices take turns: samplers and trainers of one or two devices on
// one segment, each with an owner of its own, as processes would have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sampler_service/daemon/sampling_slice.h"
#include "shared/base/status.h"
#include "shared/queue/device_table.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/daemon/training_job.h"

namespace fgnn {
namespace {

constexpr char kJobId[] = "job";
constexpr uint64_t kSteps = 6;  // 2 epochs of 3 steps: 3, 3 and 1 batches.
constexpr uint64_t kBatches = 14;

OwnerIndex SamplerOf(uint32_t device) {
  return static_cast<OwnerIndex>(1 + device);
}
OwnerIndex TrainerOf(uint32_t device) {
  return static_cast<OwnerIndex>(11 + device);
}

// A sampler of made-up batches, on a thread of its own.
class TurnSampler {
 public:
  TurnSampler(std::unique_ptr<Segment> segment, uint32_t device)
      : segment_(std::move(segment)),
        device_(device),
        thread_("sampler", [this] { Run(); }) {}
  ~TurnSampler() { stopping_ = true; }

  uint64_t batches() const { return batches_; }
  // Times that its device's trainer was at work while this sampled.
  uint64_t clashes() const { return clashes_; }

 private:
  void Run() {
    GlobalQueue queue(segment_.get(), SamplerOf(device_));
    SamplingSlice slice(segment_.get(), SamplerOf(device_), device_, 1);
    while (!stopping_) {
      const uint32_t seen = queue.frees();
      if (std::optional<SamplingSlice::Share> share = slice.Join()) {
        CountClashes();
        if (SampleNext(&queue, segment_->options().job_key)) {
          share->Made();
          ++batches_;
        }
        CountClashes();
        continue;
      }
      if (!queue.WaitForFree(seen, DeadlineIn(std::chrono::milliseconds(100)))
               .ok()) {
        return;
      }
    }
  }
  void CountClashes() {
    const SlotTable slots(*segment_);
    for (uint32_t slot = 0; slot < segment_->options().num_slots; ++slot) {
      const SlotWord word = slots.Load(slot);
      clashes_ += word.owner == TrainerOf(device_) ? 1 : 0;
    }
    const DeviceTable table(segment_.get(), kNoOwner);
    clashes_ += table.working(device_) == DeviceWork::kSample ? 0 : 1;
  }

  const std::unique_ptr<Segment> segment_;
  const uint32_t device_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> batches_ = 0;
  std::atomic<uint64_t> clashes_ = 0;
  Thread thread_;  // Last: it uses the above.
};

struct Layout {
  const char* name;
  std::vector<DevicePlan> plans;  // Of each device.
  uint32_t switching = 1;
  uint32_t num_slots = 5;
  uint32_t ahead = 2;
};

class TrainingTurnsTest : public testing::Test {
 protected:
  void SetUp() override { WriteSmallDataset(folder_ / "data"); }

  void StartJob(SegmentOptions options) {
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    queue_.emplace(segment_.get(), kNoOwner);
    board_.emplace(segment_.get(), kNoOwner);
    table_.emplace(segment_.get(), kNoOwner);
  }
  void StartJob(const Layout& layout) {
    SegmentOptions options = SmallSegmentOptions(kJobId);
    options.num_slots = layout.num_slots;
    options.num_devices = static_cast<uint32_t>(layout.plans.size());
    options.switching = layout.switching;
    StartJob(options);
    ahead_ = layout.ahead;
    for (uint32_t i = 0; i < options.num_devices; ++i) {
      table_->SetPlan(i, layout.plans[i]);
      // A standby trainer wakes for the last batch too.
      table_->SetTimes(i, {.sample = 1, .train = 1, .standby = 1e-9});
    }
  }

  std::unique_ptr<Segment> Map() {
    auto segment = Segment::Attach(UniqueFd(::dup(segment_->fd())),
                                   segment_->options().job_key);
    EXPECT_THAT(segment, IsOk());
    return *std::move(segment);
  }
  absl::StatusOr<std::unique_ptr<TrainingJob>> Attach(uint32_t device) {
    TrainingJobOptions options;
    options.job_id = kJobId;
    options.spec = SmallJob(folder_ / "data");
    options.spec.features.ahead = ahead_;
    options.owner = TrainerOf(device);
    options.device = device;
    options.on_failure = [](const absl::Status& failure) {
      ADD_FAILURE() << failure;
    };
    FGNN_ASSIGN_OR_RETURN(std::unique_ptr<TrainerBackend> backend,
                          CpuBackend::OpenForJob(options.spec, 1));
    return TrainingJob::Start(std::move(options), std::move(backend), Map());
  }

  void WaitForVersion(uint64_t version) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const bool reached,
        board_->WaitForVersion(version, DeadlineIn(std::chrono::seconds(120))));
    ASSERT_TRUE(reached);
  }
  // An epoch opens for sampling before the one before it has been trained.
  void RunBothEpochs() {
    queue_->OpenForSampling(BatchSeq(7));
    WaitForVersion(0);
    board_->OpenForTraining(StepNumber(3));
    queue_->OpenForSampling(BatchSeq(kBatches));
    WaitForVersion(3);
    board_->OpenForTraining(StepNumber(kSteps));
    WaitForVersion(kSteps);
  }
  // Who does a batch counts it a moment after others may go on.
  static void WaitUntilCounted(
      const std::vector<std::unique_ptr<TrainingJob>>& trainers,
      const std::vector<std::unique_ptr<TurnSampler>>& samplers) {
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    const auto sum = [](const auto& jobs) {
      uint64_t batches = 0;
      for (const auto& job : jobs) batches += job->batches();
      return batches;
    };
    while (sum(trainers) < kBatches || sum(samplers) < kBatches) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      std::this_thread::yield();
    }
  }
  // Weights and optimizer state; the slots of all batches are free again.
  std::vector<float> Finish() {
    EXPECT_EQ(queue_->Counts().free, segment_->options().num_slots);
    std::vector<float> all(board_->weights(kSteps).begin(),
                           board_->weights(kSteps).end());
    all.insert(all.end(), board_->optimizer_state(kSteps).begin(),
               board_->optimizer_state(kSteps).end());
    return all;
  }
  // By one trainer, without turns.
  std::vector<float> Expected() {
    StartJob(SmallSegmentOptions(kJobId));
    GlobalQueue sampler(segment_.get(), SamplerOf(0));
    queue_->OpenForSampling(BatchSeq(kBatches));
    board_->OpenForTraining(StepNumber(kSteps));
    {
      const auto trainer = Attach(0);
      EXPECT_THAT(trainer, IsOk());
      const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
      while (board_->version().value_or(0) < kSteps &&
             MonotonicClock::now() < deadline) {
        const uint32_t seen = sampler.frees();
        if (SampleNext(&sampler, segment_->options().job_key)) continue;
        EXPECT_THAT(sampler.WaitForFree(
                        seen, DeadlineIn(std::chrono::milliseconds(10))),
                    IsOk());
      }
    }
    return Finish();
  }

  TempFolder folder_;
  uint32_t ahead_ = 0;
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> queue_;
  std::optional<GradientBoard> board_;
  std::optional<DeviceTable> table_;
};

constexpr DevicePlan kS = DevicePlan::kSample;
constexpr DevicePlan kT = DevicePlan::kTrain;
constexpr DevicePlan kB = DevicePlan::kTimeShare;
constexpr DevicePlan kL = DevicePlan::kLost;

class TurnLayoutsTest : public TrainingTurnsTest,
                        public testing::WithParamInterface<Layout> {};

INSTANTIATE_TEST_SUITE_P(
    Layouts, TurnLayoutsTest,
    testing::Values(
        Layout{"Alone", {kS}}, Layout{"AloneWithAWholeEpoch", {kS}, 1, 7, 0},
        Layout{"AloneWithASlot", {kS}, 1, 1}, Layout{"Factored", {kS, kT}},
        Layout{"FactoredWithoutSwitching", {kS, kT}, 0},
        Layout{"AllSample", {kS, kS}, 1, 3}, Layout{"TimeSharing", {kB, kB}},
        Layout{"AloneInTurn", {kB}}, Layout{"LeftAlone", {kL, kS}},
        Layout{"LeftAloneWithoutSwitching", {kB, kL}, 0}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(TurnLayoutsTest, EndsInTheWeightsOfAJobWithoutTurns) {
  const Layout& layout = GetParam();
  const std::vector<float> expected = Expected();
  StartJob(layout);
  uint64_t sampled = 0;
  uint64_t trained = 0;
  uint64_t trained_by_planned = 0;
  {
    std::vector<std::unique_ptr<TrainingJob>> trainers;
    std::vector<std::unique_ptr<TurnSampler>> samplers;
    for (uint32_t device = 0; device < layout.plans.size(); ++device) {
      FGNN_ASSERT_OK_AND_ASSIGN(trainers.emplace_back(), Attach(device));
      samplers.push_back(std::make_unique<TurnSampler>(Map(), device));
    }
    ASSERT_NO_FATAL_FAILURE(RunBothEpochs());
    WaitUntilCounted(trainers, samplers);
    for (uint32_t device = 0; device < layout.plans.size(); ++device) {
      SCOPED_TRACE(device);
      EXPECT_EQ(samplers[device]->clashes(), 0U);
      if (layout.plans[device] == kT || layout.plans[device] == kL) {
        EXPECT_EQ(samplers[device]->batches(), 0U);
      }
      if (layout.plans[device] == kL) {
        EXPECT_EQ(trainers[device]->batches(), 0U);
      }
      if (layout.plans[device] == kT || layout.plans[device] == kB) {
        trained_by_planned += trainers[device]->batches();
      }
      sampled += samplers[device]->batches();
      trained += trainers[device]->batches();
      if (layout.switching == 0 && layout.plans[device] == kS) {
        EXPECT_EQ(table_->wakes(device), 0U);
      }
    }
  }
  EXPECT_EQ(sampled, kBatches);
  EXPECT_EQ(trained, kBatches);
  if (layout.switching == 0) {
    EXPECT_EQ(trained_by_planned, kBatches);
  }
  EXPECT_EQ(Finish(), expected);
  for (uint32_t device = 0; device < layout.plans.size(); ++device) {
    // Those who leave give their slices back.
    EXPECT_EQ(table_->working(device), DeviceWork::kNothing);
  }
}

TEST_F(TrainingTurnsTest, PlansMayChangeAtAnyMoment) {
  const std::vector<float> expected = Expected();
  StartJob(Layout{"", {kS, kT}});
  uint64_t trained = 0;
  {
    std::vector<std::unique_ptr<TrainingJob>> trainers;
    std::vector<std::unique_ptr<TurnSampler>> samplers;
    for (uint32_t device = 0; device < 2; ++device) {
      FGNN_ASSERT_OK_AND_ASSIGN(trainers.emplace_back(), Attach(device));
      samplers.push_back(std::make_unique<TurnSampler>(Map(), device));
    }
    queue_->OpenForSampling(BatchSeq(kBatches));
    board_->OpenForTraining(StepNumber(kSteps));
    // A new plan with each thing that happens; some device always samples.
    const std::vector<std::vector<DevicePlan>> plans = {
        {kS, kT}, {kT, kS}, {kS, kS}, {kB, kT}, {kB, kB},
        {kT, kB}, {kL, kS}, {kB, kL}, {kT, kS}, {kS, kL}};
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    for (size_t i = 0; board_->version().value_or(0) < kSteps; ++i) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      const std::vector<DevicePlan>& next = plans[i % plans.size()];
      for (uint32_t device = 0; device < 2; ++device) {
        table_->SetPlan(device, next[device]);
      }
      FGNN_ASSERT_OK(board_->WaitForChange(
          board_->changes(), DeadlineIn(std::chrono::milliseconds(10))));
    }
    WaitUntilCounted(trainers, samplers);
    for (uint32_t device = 0; device < 2; ++device) {
      EXPECT_EQ(samplers[device]->clashes(), 0U);
      trained += trainers[device]->batches();
    }
  }
  EXPECT_EQ(trained, kBatches);
  EXPECT_EQ(Finish(), expected);
}

TEST_F(TrainingTurnsTest, DoesNothingWhileItsDeviceSamples) {
  StartJob(Layout{"", {kT}});
  DeviceTable sampling(segment_.get(), SamplerOf(0));
  GlobalQueue sampler(segment_.get(), SamplerOf(0));
  ASSERT_TRUE(sampling.TryTakeSlice(0, DeviceWork::kSample));
  queue_->OpenForSampling(BatchSeq(7));
  board_->OpenForTraining(StepNumber(3));
  while (SampleNext(&sampler, segment_->options().job_key)) {
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto trainer, Attach(0));
  const uint64_t before = trainer->progress();
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  while (trainer->progress() < before + 3) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_EQ(queue_->Counts().ready, 5U);
  EXPECT_EQ(board_->version(), std::nullopt);
  sampling.EndSlice(0, DeviceWork::kSample);
  WaitForVersion(1);
}

// Extracted ahead, of a step that waits for a batch of somebody else's.
TEST_F(TrainingTurnsTest, GivesBackWhatItKeptWhenItsDeviceIsToSample) {
  StartJob(Layout{"", {kT, kT}});
  GlobalQueue sampler(segment_.get(), SamplerOf(0));
  GlobalQueue other(segment_.get(), TrainerOf(1));
  queue_->OpenForSampling(BatchSeq(7));
  while (SampleNext(&sampler, segment_->options().job_key)) {
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto held,
                            other.TryClaimForReading(BatchSeq(0), BatchSeq(1)));
  board_->OpenForTraining(StepNumber(3));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto trainer, Attach(0));
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  const auto wait_until = [&](const auto& condition) {
    for (;;) {
      const uint32_t seen = board_->changes();
      if (condition()) return;
      ASSERT_LT(MonotonicClock::now(), deadline);
      FGNN_ASSERT_OK(board_->WaitForChange(
          seen, DeadlineIn(std::chrono::milliseconds(10))));
    }
  };
  // Of the next step it keeps its share.
  ASSERT_NO_FATAL_FAILURE(wait_until([&] {
    return trainer->batches() == 2 && queue_->Counts().reading == 3;
  }));
  EXPECT_EQ(table_->working(0), DeviceWork::kTrain);
  table_->SetPlan(0, kS);
  ASSERT_NO_FATAL_FAILURE(
      wait_until([&] { return table_->working(0) == DeviceWork::kNothing; }));
  EXPECT_EQ(queue_->Counts().reading, 1U);
  EXPECT_EQ(queue_->Counts().ready, 2U);
}

// It had the device's slice, and the first weights to make.
TEST_F(TrainingTurnsTest, WhatADeadOneHeldAnotherOneTakes) {
  const std::vector<float> expected = Expected();
  StartJob(Layout{"", {kS}});
  constexpr OwnerIndex kDead{9};
  ASSERT_TRUE(
      DeviceTable(segment_.get(), kDead).TryTakeSlice(0, DeviceWork::kTrain));
  GradientBoard dead_board(segment_.get(), kDead);
  const std::optional<StepLease> held = dead_board.TryLease();
  ASSERT_TRUE(held.has_value());
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto trainer, Attach(0));
    const TurnSampler sampler(Map(), 0);
    queue_->OpenForSampling(BatchSeq(kBatches));
    board_->OpenForTraining(StepNumber(kSteps));
    EXPECT_TRUE(board_->ReclaimLeaseOf(kDead));
    EXPECT_EQ(table_->working(0), DeviceWork::kTrain);
    EXPECT_EQ(sampler.batches(), 0U);
    EXPECT_EQ(board_->version(), std::nullopt);
    EXPECT_TRUE(table_->ReclaimSlicesOf(kDead));
    ASSERT_NO_FATAL_FAILURE(WaitForVersion(kSteps));
  }
  EXPECT_EQ(Finish(), expected);
}

TEST_F(TrainingTurnsTest, TellsHowLongItsBatchesTake) {
  StartJob(Layout{"", {kS}});
  table_->SetTimes(0, {});
  FGNN_ASSERT_OK_AND_ASSIGN(const auto trainer, Attach(0));
  const TurnSampler sampler(Map(), 0);
  ASSERT_NO_FATAL_FAILURE(RunBothEpochs());
  EXPECT_GT(table_->times(0).sample, 0);
  EXPECT_GT(table_->times(0).standby, 0);
  EXPECT_EQ(table_->times(0).train, 0);  // It is not planned to.
  EXPECT_GE(table_->wakes(0), 2U);
}

TEST_F(TrainingTurnsTest, RefusesADeviceThatTheJobDoesNotHave) {
  StartJob(Layout{"", {kS, kT}});
  EXPECT_THAT(Attach(2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("device 2 is none of the 2")));
}

}  // namespace
}  // namespace fgnn
