// Two devices that take turns, a sampler and a trainer process each: they are
// killed at random, reaped and replaced, and plans change, while they work a
// job off whose weights are known. The seed is printed; FGNN_TEST_SEED and
// FGNN_TEST_KILLS (at most 8000) set others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "shared/base/philox.h"
#include "shared/queue/device_table.h"
#include "shared/queue/slot_table.h"
#include "tests/fault/child_process.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

constexpr uint64_t kDefaultSeed = 20240901;
constexpr uint64_t kDefaultKills = 150;
constexpr uint64_t kMostBatchesBetweenKills = 12;
constexpr uint64_t kBatchesPerKill = 20;
constexpr uint64_t kBatchesPerEpoch = 100;
constexpr uint32_t kDevices = 2;
constexpr DevicePlan kS = DevicePlan::kSample;
constexpr DevicePlan kT = DevicePlan::kTrain;
constexpr DevicePlan kB = DevicePlan::kTimeShare;
constexpr DevicePlan kL = DevicePlan::kLost;
// Some device may sample in each.
constexpr DevicePlan kPlans[][kDevices] = {
    {kS, kT}, {kT, kS}, {kS, kS}, {kB, kB}, {kT, kB}, {kL, kS}, {kB, kL}};

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

OwnerIndex SamplerOf(uint32_t device) {
  return static_cast<OwnerIndex>(1 + device);
}
OwnerIndex TrainerOf(uint32_t device) {
  return static_cast<OwnerIndex>(1 + kDevices + device);
}

// The other one of the device does nothing.
void CheckAlone(const Segment& segment, OwnerIndex other) {
  const SlotTable slots(segment);
  for (uint32_t slot = 0; slot < segment.options().num_slots; ++slot) {
    if (slots.Load(slot).owner == other) ::_exit(9);
  }
}

void RunSampler(Segment* segment, uint32_t device, const Report& report) {
  GlobalQueue queue(segment, SamplerOf(device), /*overflow_block=*/device);
  DeviceTable table(segment, SamplerOf(device));
  for (;;) {
    uint32_t seen = queue.frees();
    SwitchSnapshot snapshot = table.Snapshot(device);
    if (NextWork(snapshot) == DeviceWork::kSample &&
        table.TryTakeTurn(device, DeviceWork::kSample)) {
      bool is_blocked = false;
      while (!is_blocked && NextWork(snapshot) == DeviceWork::kSample) {
        CheckAlone(*segment, TrainerOf(device));
        const auto turn = SamplerTurn(&queue, NoWait());
        if (!turn.ok()) ::_exit(4);
        if (*turn == Turn::kDone) report();
        is_blocked = *turn != Turn::kDone;
        snapshot = table.Snapshot(device);
        snapshot.last = DeviceWork::kSample;
      }
      const bool trains_first = is_blocked && table.plan(device) != kB;
      table.EndTurn(device,
                    trains_first ? DeviceWork::kTrain : DeviceWork::kSample);
      if (!is_blocked) continue;
      seen = queue.frees();
    }
    if (!queue.WaitForFree(seen, FarDeadline()).ok()) ::_exit(5);
  }
}

void RunTrainer(Segment* segment, uint32_t device, const Report& report) {
  GlobalQueue queue(segment, TrainerOf(device));
  GradientBoard board(segment, TrainerOf(device));
  DeviceTable table(segment, TrainerOf(device));
  while (board.version() != LastVersion(segment->options())) {
    const uint32_t seen = board.changes();
    SwitchSnapshot snapshot = table.Snapshot(device);
    if (NextWork(snapshot) == DeviceWork::kTrain &&
        table.TryTakeTurn(device, DeviceWork::kTrain)) {
      while (NextWork(snapshot) == DeviceWork::kTrain) {
        CheckAlone(*segment, SamplerOf(device));
        const auto turn = TrainerTurn(&queue, &board, segment->options());
        if (!turn.ok()) ::_exit(6);
        if (*turn == Turn::kDone) report();
        snapshot = table.Snapshot(device);
        snapshot.last = DeviceWork::kTrain;
      }
      table.EndTurn(device, DeviceWork::kTrain);
      continue;
    }
    if (!board.WaitForChange(seen, FarDeadline()).ok()) ::_exit(7);
  }
}

class DeviceTurnsKillTest : public testing::Test {
 protected:
  SegmentOptions Options() const {
    SegmentOptions options = SmallOptions();
    options.num_slots = 6;
    options.num_devices = kDevices;
    options.switching = 1;
    options.batches_per_epoch = kBatchesPerEpoch;
    options.epochs = num_kills_ * kBatchesPerKill / kBatchesPerEpoch + 1;
    return options;
  }
  // Of each device the sampler, then of each the trainer.
  Child StartChild(uint32_t index) {
    return Child::Start([this, index] {
      if (index < kDevices) {
        RunSampler(segment_.get(), index, reports_.report());
      } else {
        RunTrainer(segment_.get(), index - kDevices, reports_.report());
      }
    });
  }
  uint64_t Below(uint64_t range) {
    const PhiloxBlock block = Philox4x32({draw_++, 0, 0, 0}, key_);
    return UniformBelow((uint64_t{block.words[0]} << 32) | block.words[1],
                        range);
  }

  const uint64_t seed_ = NumberFrom("FGNN_TEST_SEED", kDefaultSeed);
  const uint64_t num_kills_ = NumberFrom("FGNN_TEST_KILLS", kDefaultKills);
  const PhiloxKey key_ =
      MakePhiloxKey(seed_, 0, 0, 0, Purpose::kGenerateDataset);
  uint32_t draw_ = 0;
  std::unique_ptr<Segment> segment_ = MakeSegment(Options());
  Reports reports_;
};

TEST_F(DeviceTurnsKillTest, EveryBatchCountsOnceWhoeverDies) {
  std::cout << "FGNN_TEST_SEED=" << seed_ << " FGNN_TEST_KILLS=" << num_kills_
            << std::endl;
  GlobalQueue scheduler(segment_.get(), kNoOwner);
  GradientBoard board(segment_.get(), kNoOwner);
  DeviceTable table(segment_.get(), kNoOwner);
  for (uint32_t device = 0; device < kDevices; ++device) {
    table.SetTimes(device, {.sample = 1, .train = 1, .standby = 1});
  }
  board.OpenForTraining(StepNumber(LastVersion(segment_->options())));
  std::vector<Child> children;
  for (uint32_t i = 0; i < 2 * kDevices; ++i) children.push_back(StartChild(i));
  const auto reap = [&](uint32_t index) {
    const auto owner = static_cast<OwnerIndex>(index + 1);
    children[index].Kill();
    scheduler.ReclaimSlotsOf(owner);
    board.ReclaimLeaseOf(owner);
    table.ReclaimTurnsOf(owner);
  };
  uint64_t opened = 0;
  for (uint64_t kill = 1; kill <= num_kills_; ++kill) {
    const DevicePlan* plans = kPlans[Below(std::size(kPlans))];
    for (uint32_t device = 0; device < kDevices; ++device) {
      table.SetPlan(device, plans[device]);
    }
    opened += kBatchesPerKill;
    scheduler.OpenForSampling(BatchSeq(opened));
    ASSERT_TRUE(reports_.Await(1 + Below(kMostBatchesBetweenKills)))
        << "nothing moves after " << kill - 1 << " kills";
    const auto victim = static_cast<uint32_t>(Below(children.size()));
    reap(victim);
    children[victim] = StartChild(victim);
  }
  scheduler.OpenForSampling(BatchSeq(UINT64_MAX));
  // Takes the reports, so that nobody waits for room in the pipe.
  while (board.version() != LastVersion(segment_->options())) {
    ASSERT_TRUE(reports_.Await(1)) << "the rest is not worked off";
  }
  for (uint32_t i = 0; i < 2 * kDevices; ++i) reap(i);
  FinishAlone(segment_.get(), OwnerIndex{11}, OwnerIndex{12},
              /*overflow_block=*/0);
  ExpectExactResult(segment_.get());
  for (uint32_t device = 0; device < kDevices; ++device) {
    EXPECT_EQ(table.working(device), DeviceWork::kNothing);
  }
}

// Killed in its turn, it keeps the device from the other one until it is
// reaped, and no longer.
TEST_F(DeviceTurnsKillTest, TheReaperNamesTheTurnOfOneThatDied) {
  GlobalQueue scheduler(segment_.get(), kNoOwner);
  DeviceTable table(segment_.get(), kNoOwner);
  DeviceTable trainer(segment_.get(), TrainerOf(0));
  scheduler.OpenForSampling(BatchSeq(10));
  {
    const Child child = Child::Start([this] {
      GlobalQueue queue(segment_.get(), SamplerOf(0));
      DeviceTable mine(segment_.get(), SamplerOf(0));
      static auto slot = queue.TryClaimForWriting();
      if (!slot.ok() || !slot->has_value()) ::_exit(1);
      if (!mine.TryTakeTurn(0, DeviceWork::kSample)) ::_exit(1);
      reports_.report()();
      WaitToBeKilled();
    });
    ASSERT_TRUE(reports_.Await(1));
  }
  EXPECT_EQ(table.working(0), DeviceWork::kSample);
  EXPECT_FALSE(trainer.TryTakeTurn(0, DeviceWork::kTrain));
  EXPECT_EQ(scheduler.ReclaimSlotsOf(SamplerOf(0)).size(), 1U);
  EXPECT_TRUE(table.ReclaimTurnsOf(SamplerOf(0)));
  EXPECT_FALSE(table.ReclaimTurnsOf(SamplerOf(0)));
  EXPECT_TRUE(trainer.TryTakeTurn(0, DeviceWork::kTrain));
}

}  // namespace
}  // namespace fgnn
