// Two devices that take turns, a sampler and a trainer process each, are killed
// and plans change, while they work a job off: see kill_test.h.
#include "shared/queue/device_table.h"
#include "shared/queue/slot_table.h"
#include "tests/fault/kill_test.h"

namespace fgnn {
namespace {

constexpr uint64_t kMostBatchesBetweenKills = 12;
constexpr uint32_t kDevices = 2;
constexpr DevicePlan kS = DevicePlan::kSample;
constexpr DevicePlan kT = DevicePlan::kTrain;
constexpr DevicePlan kB = DevicePlan::kTimeShare;
constexpr DevicePlan kL = DevicePlan::kLost;
// Some device may sample in each.
constexpr DevicePlan kPlans[][kDevices] = {
    {kS, kT}, {kT, kS}, {kS, kS}, {kB, kB}, {kT, kB}, {kL, kS}, {kB, kL}};

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
  const auto parts = static_cast<uint32_t>(segment->options().parts);
  GlobalQueue queue(segment, SamplerOf(device),
                    /*overflow_block=*/device * parts);
  DeviceTable table(segment, SamplerOf(device));
  for (;;) {
    uint32_t seen = queue.frees();
    SwitchSnapshot snapshot = table.Snapshot(device);
    if (NextWork(snapshot) == DeviceWork::kSample &&
        table.TryTakeSlice(device, DeviceWork::kSample)) {
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
      table.EndSlice(device,
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
        table.TryTakeSlice(device, DeviceWork::kTrain)) {
      while (NextWork(snapshot) == DeviceWork::kTrain) {
        CheckAlone(*segment, SamplerOf(device));
        const auto turn = TrainerTurn(&queue, &board, segment->options());
        if (!turn.ok()) ::_exit(6);
        if (*turn == Turn::kDone) report();
        snapshot = table.Snapshot(device);
        snapshot.last = DeviceWork::kTrain;
      }
      table.EndSlice(device, DeviceWork::kTrain);
      continue;
    }
    if (!board.WaitForChange(seen, FarDeadline()).ok()) ::_exit(7);
  }
}

SegmentOptions OptionsFor(uint32_t parts) {
  SegmentOptions options = SmallOptions();
  options.parts = parts;
  options.num_slots = 6 * parts;
  options.num_overflow_blocks = kDevices * parts;
  options.num_devices = kDevices;
  options.switching = 1;
  options.batches_per_epoch = 100;
  return options;
}

// The parameter is the number of a batch's parts.
class DeviceTurnsKillTest : public KillTest,
                            public testing::WithParamInterface<uint32_t> {
 protected:
  DeviceTurnsKillTest()
      : KillTest({.seed = 20240901, .num_kills = 150}, OptionsFor(GetParam())) {
  }
};

TEST_P(DeviceTurnsKillTest, EveryBatchCountsOnceWhoeverDies) {
  DeviceTable table(segment_.get(), kNoOwner);
  for (uint32_t device = 0; device < kDevices; ++device) {
    table.SetTimes(device, {.sample = 1, .train = 1, .standby = 1});
  }
  WorkOff(
      2 * kDevices, kMostBatchesBetweenKills,
      // Of each device the sampler, then of each the trainer.
      [this](uint32_t index) {
        if (index < kDevices) {
          RunSampler(segment_.get(), index, reports_.report());
        } else {
          RunTrainer(segment_.get(), index - kDevices, reports_.report());
        }
      },
      [&] {
        const DevicePlan* plans = kPlans[Below(std::size(kPlans))];
        for (uint32_t device = 0; device < kDevices; ++device) {
          table.SetPlan(device, plans[device]);
        }
      },
      [&](OwnerIndex owner) { table.ReclaimSlicesOf(owner); });
  for (uint32_t device = 0; device < kDevices; ++device) {
    EXPECT_EQ(table.working(device), DeviceWork::kNothing);
  }
}

// Killed in its slice, it keeps the device from the other one until it is
// reaped, and no longer.
TEST_P(DeviceTurnsKillTest, TheReaperNamesTheSliceOfOneThatDied) {
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
      if (!mine.TryTakeSlice(0, DeviceWork::kSample)) ::_exit(1);
      reports_.report()();
      WaitToBeKilled();
    });
    ASSERT_TRUE(reports_.Await(1));
  }
  EXPECT_EQ(table.working(0), DeviceWork::kSample);
  EXPECT_FALSE(trainer.TryTakeSlice(0, DeviceWork::kTrain));
  EXPECT_EQ(scheduler.ReclaimSlotsOf(SamplerOf(0)).size(), 1U);
  EXPECT_TRUE(table.ReclaimSlicesOf(SamplerOf(0)));
  EXPECT_FALSE(table.ReclaimSlicesOf(SamplerOf(0)));
  EXPECT_TRUE(trainer.TryTakeSlice(0, DeviceWork::kTrain));
}

INSTANTIATE_TEST_SUITE_P(Parts, DeviceTurnsKillTest, testing::Values(1, 2, 3));

}  // namespace
}  // namespace fgnn
