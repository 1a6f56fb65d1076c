#include "shared/queue/device_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "shared/base/threads/futex.h"
#include "shared/queue/segment_layout.h"
#include "tests/unit/shared/queue/device_table_fixture.h"

namespace fgnn {
namespace {

TEST_F(DeviceTableTest, OneOfTwoHoldsADevicesTurn) {
  EXPECT_EQ(scheduler_->working(1), DeviceWork::kNothing);
  EXPECT_TRUE(sampler_->TryTakeSlice(1, DeviceWork::kSample));
  EXPECT_EQ(scheduler_->working(1), DeviceWork::kSample);
  EXPECT_FALSE(trainer_->TryTakeSlice(1, DeviceWork::kTrain));
  EXPECT_FALSE(sampler_->TryTakeSlice(1, DeviceWork::kSample));
  // Other devices are none of it.
  EXPECT_TRUE(trainer_->TryTakeSlice(2, DeviceWork::kTrain));
  EXPECT_EQ(scheduler_->working(0), DeviceWork::kNothing);
  // Nobody ends another one's slice.
  trainer_->EndSlice(1, DeviceWork::kTrain);
  EXPECT_EQ(scheduler_->working(1), DeviceWork::kSample);
  sampler_->EndSlice(1, DeviceWork::kSample);
  EXPECT_EQ(LastOf(1), DeviceWork::kSample);
  EXPECT_TRUE(trainer_->TryTakeSlice(1, DeviceWork::kTrain));
  EXPECT_EQ(LastOf(1), DeviceWork::kSample);
  trainer_->EndSlice(1, DeviceWork::kTrain);
  EXPECT_EQ(LastOf(1), DeviceWork::kTrain);
  // Nothing was done.
  EXPECT_TRUE(sampler_->TryTakeSlice(1, DeviceWork::kSample));
  sampler_->EndSlice(1, DeviceWork::kNothing);
  EXPECT_EQ(LastOf(1), DeviceWork::kTrain);
  // The scheduler takes none, and nobody takes one for nothing.
  EXPECT_FALSE(scheduler_->TryTakeSlice(0, DeviceWork::kSample));
  EXPECT_FALSE(sampler_->TryTakeSlice(0, DeviceWork::kNothing));
}

// Both reach for it at the same moment, over and over.
TEST_F(DeviceTableTest, NeverBothAtOnce) {
  constexpr int kRounds = 3000;
  std::atomic<int> arrived = 0;
  std::atomic<int> won = 0;
  const auto wait_for_both = [&arrived](int times) {
    ++arrived;
    for (int looks = 1; arrived < 2 * times; ++looks) {
      if (looks % 10'000 == 0) std::this_thread::yield();
    }
  };
  const auto work = [&](DeviceTable& table, DeviceWork what) {
    for (int round = 0; round < kRounds; ++round) {
      wait_for_both(2 * round + 1);
      const bool taken = table.TryTakeSlice(0, what);
      if (taken) ++won;
      wait_for_both(2 * round + 2);
      if (taken) table.EndSlice(0, what);
    }
  };
  std::thread other([&] { work(*trainer_, DeviceWork::kTrain); });
  work(*sampler_, DeviceWork::kSample);
  other.join();
  // One in each round.
  EXPECT_EQ(won, kRounds);
  EXPECT_EQ(scheduler_->working(0), DeviceWork::kNothing);
}

TEST_F(DeviceTableTest, CountsHowOftenASamplingDeviceWentOverToTraining) {
  const auto train = [this](uint32_t device) {
    EXPECT_TRUE(trainer_->TryTakeSlice(device, DeviceWork::kTrain));
    trainer_->EndSlice(device, DeviceWork::kTrain);
  };
  const auto sample = [this](uint32_t device) {
    EXPECT_TRUE(sampler_->TryTakeSlice(device, DeviceWork::kSample));
    sampler_->EndSlice(device, DeviceWork::kSample);
  };
  train(0);
  train(0);  // Went on.
  EXPECT_EQ(scheduler_->wakes(0), 1U);
  sample(0);
  train(0);
  EXPECT_EQ(scheduler_->wakes(0), 2U);
  EXPECT_EQ(scheduler_->wakes(1), 0U);
  for (const DevicePlan plan : {DevicePlan::kTrain, DevicePlan::kTimeShare}) {
    scheduler_->SetPlan(1, plan);
    sample(1);
    train(1);
  }
  EXPECT_EQ(scheduler_->wakes(1), 0U);
}

TEST_F(DeviceTableTest, TheReaperEndsTheTurnsOfTheDead) {
  EXPECT_TRUE(trainer_->TryTakeSlice(0, DeviceWork::kTrain));
  trainer_->EndSlice(0, DeviceWork::kTrain);
  EXPECT_TRUE(sampler_->TryTakeSlice(0, DeviceWork::kSample));
  EXPECT_TRUE(sampler_->TryTakeSlice(2, DeviceWork::kSample));
  EXPECT_TRUE(trainer_->TryTakeSlice(1, DeviceWork::kTrain));
  EXPECT_FALSE(scheduler_->ReclaimSlicesOf(kNoOwner));
  EXPECT_TRUE(scheduler_->ReclaimSlicesOf(kSampler));
  EXPECT_EQ(scheduler_->working(0), DeviceWork::kNothing);
  EXPECT_EQ(scheduler_->working(2), DeviceWork::kNothing);
  EXPECT_EQ(scheduler_->working(1), DeviceWork::kTrain);
  EXPECT_EQ(LastOf(0), DeviceWork::kTrain);
  EXPECT_FALSE(scheduler_->ReclaimSlicesOf(kSampler));
  // One that was declared dead ends nobody's slice.
  EXPECT_TRUE(trainer_->TryTakeSlice(0, DeviceWork::kTrain));
  sampler_->EndSlice(0, DeviceWork::kSample);
  EXPECT_EQ(scheduler_->working(0), DeviceWork::kTrain);
}

TEST_F(DeviceTableTest, EndsOfTurnsAndPlansAreAnnounced) {
  const ControlWords& control = segment_->regions().control();
  const auto counters = [&] {
    return std::pair(ReadCounter(&control.changes),
                     ReadCounter(&control.frees));
  };
  const auto expect_announced = [&](const auto& step) {
    const auto before = counters();
    step();
    EXPECT_NE(counters().first, before.first);
    EXPECT_NE(counters().second, before.second);
  };
  expect_announced([&] { scheduler_->SetPlan(0, DevicePlan::kTrain); });
  expect_announced([&] { scheduler_->SetCachedAs(0, DevicePlan::kTrain); });
  ASSERT_TRUE(sampler_->TryTakeSlice(0, DeviceWork::kSample));
  expect_announced([&] { sampler_->EndSlice(0, DeviceWork::kSample); });
  // Even if there is nothing: an earlier reaper may have died.
  expect_announced([&] { scheduler_->ReclaimSlicesOf(kSampler); });
}

TEST_F(DeviceTableTest, TrainersOfDevicesThatSampleHaveACacheOfTheirOwn) {
  segment_->SetCachePlan({.rank_order_key = 7, .rows = 20, .standby_rows = 5});
  EXPECT_EQ(trainer_->cache(1), (TrainerCache{7, 5}));
  scheduler_->SetPlan(1, DevicePlan::kTrain);
  EXPECT_EQ(trainer_->cache(1), (TrainerCache{7, 5})) << "in mid-epoch";
  scheduler_->SetCachedAs(1, DevicePlan::kTrain);
  EXPECT_EQ(trainer_->cache(1), (TrainerCache{7, 20}));
  EXPECT_EQ(trainer_->cache(0), (TrainerCache{7, 5}));
  scheduler_->SetCachedAs(0, DevicePlan::kTimeShare);
  EXPECT_EQ(trainer_->cache(0), (TrainerCache{7, 20}));

  UseSegment(WithDevices(0));
  segment_->SetCachePlan({.rank_order_key = 7, .rows = 20, .standby_rows = 5});
  EXPECT_EQ(trainer_->cache(0), (TrainerCache{7, 20}));
}

TEST_F(DeviceTableTest, KeepsWhatADeviceGoesBackToOnceAHandLetsGo) {
  EXPECT_EQ(trainer_->released(1), std::nullopt);
  for (const DevicePlan released :
       {DevicePlan::kSample, DevicePlan::kTrain, DevicePlan::kTimeShare}) {
    scheduler_->SetPlan(1, DevicePlan::kTrain, released);
    EXPECT_EQ(trainer_->plan(1), DevicePlan::kTrain);
    EXPECT_EQ(trainer_->released(1), released);
    EXPECT_EQ(trainer_->released(0), std::nullopt);
  }
  scheduler_->SetPlan(1, DevicePlan::kTrain);
  EXPECT_EQ(trainer_->released(1), std::nullopt);
}

TEST_F(DeviceTableTest, PlansAndTimes) {
  EXPECT_EQ(scheduler_->num_devices(), 3U);
  EXPECT_EQ(sampler_->plan(1), DevicePlan::kSample);
  scheduler_->SetPlan(1, DevicePlan::kTrain);
  EXPECT_EQ(sampler_->plan(1), DevicePlan::kTrain);
  EXPECT_EQ(sampler_->plan(0), DevicePlan::kSample);

  EXPECT_EQ(sampler_->times(0).sample, 0);
  sampler_->AddSampleTime(0, 0.5);  // The first value is the average.
  EXPECT_EQ(scheduler_->times(0).sample, 0.5);
  scheduler_->SetTimes(1, {.sample = 1, .train = 2, .standby = 4});
  sampler_->AddSampleTime(1, 1.8);
  EXPECT_DOUBLE_EQ(scheduler_->times(1).sample, 1.1);
  trainer_->AddTrainTime(1, 2.8);  // It is planned to.
  EXPECT_DOUBLE_EQ(scheduler_->times(1).train, 2.1);
  scheduler_->SetPlan(1, DevicePlan::kSample);
  trainer_->AddTrainTime(1, 4.8);
  EXPECT_DOUBLE_EQ(scheduler_->times(1).standby, 4.1);
  EXPECT_DOUBLE_EQ(scheduler_->times(1).train, 2.1);
  for (const double nonsense :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    sampler_->AddSampleTime(1, nonsense);
    EXPECT_DOUBLE_EQ(scheduler_->times(1).sample, 1.1);
  }
}

TEST_F(DeviceTableTest, KeepsTheLongestWakeUntilItIsTaken) {
  EXPECT_EQ(scheduler_->TakeLongestWake(0), 0);
  for (const double seconds : {0.002, 0.125, 0.004}) {
    trainer_->AddWakeTime(0, seconds);
  }
  EXPECT_EQ(scheduler_->TakeLongestWake(1), 0);
  EXPECT_EQ(scheduler_->TakeLongestWake(0), 0.125);
  EXPECT_EQ(scheduler_->TakeLongestWake(0), 0);
}

TEST_F(DeviceTableTest, ASegmentWithoutDevicesHasNothingToTake) {
  UseSegment(SmallOptions());
  EXPECT_EQ(scheduler_->num_devices(), 0U);
  scheduler_->SetPlan(0, DevicePlan::kTrain);
  scheduler_->SetTimes(0, {1, 1, 1});
  trainer_->AddTrainTime(0, 1);
  trainer_->AddWakeTime(0, 1);
  EXPECT_EQ(scheduler_->TakeLongestWake(0), 0);
  EXPECT_FALSE(trainer_->TryTakeSlice(0, DeviceWork::kTrain));
  trainer_->EndSlice(0, DeviceWork::kTrain);
  EXPECT_EQ(trainer_->working(0), DeviceWork::kNothing);
  EXPECT_EQ(trainer_->times(0).train, 0);
  EXPECT_FALSE(scheduler_->ReclaimSlicesOf(kTrainer));
  EXPECT_EQ(trainer_->Snapshot(0).num_trainers, 0U);
  EXPECT_EQ(trainer_->NumTraining(), 1U);
}

TEST_F(DeviceTableTest, NonsenseInTheWordsLeadsNowhere) {
  std::mt19937_64 random(7);
  GlobalQueue(segment_.get(), kNoOwner).OpenForSampling(BatchSeq(30));
  const Segment::Regions& regions = segment_->regions();
  for (int round = 0; round < 500; ++round) {
    for (uint32_t device = 0; device < 3; ++device) {
      DeviceWords words;
      for (uint64_t* word :
           {&words.slice, &words.plan, &words.cached_as, &words.sample_seconds,
            &words.train_seconds, &words.standby_seconds}) {
        *word = random() >> (random() % 64);
      }
      regions.device(device) = words;
    }
    for (uint32_t slot = 0; slot < 4; ++slot) {
      regions.slot_word(slot).store(random() >> (random() % 64));
    }
    regions.control().oldest_task = random() >> (random() % 64);
    regions.control().board_word = random() >> (random() % 64);
    const auto device = static_cast<uint32_t>(random());  // Of 3.
    const SwitchSnapshot snapshot = scheduler_->Snapshot(device);
    EXPECT_LE(snapshot.free_batches + snapshot.queued_batches, 4U);
    EXPECT_LE(snapshot.batches_left, 10U);
    EXPECT_GE(snapshot.train_seconds, 0);
    EXPECT_LE(static_cast<int>(snapshot.plan), 4);
    EXPECT_LE(static_cast<int>(snapshot.last), 2);
    for (const DevicePlan plan :
         {scheduler_->cached_as(device),
          scheduler_->released(device).value_or(DevicePlan::kSample)}) {
      EXPECT_LE(static_cast<int>(plan), 4);
      EXPECT_NE(plan, DevicePlan::kLost);
    }
    NextWork(snapshot);
    scheduler_->ReclaimSlicesOf(static_cast<OwnerIndex>(random()));
    if (sampler_->TryTakeSlice(device, DeviceWork::kSample)) {
      EXPECT_EQ(scheduler_->working(device), DeviceWork::kSample);
      sampler_->EndSlice(device, DeviceWork::kSample);
      EXPECT_EQ(scheduler_->working(device), DeviceWork::kNothing);
    }
    trainer_->AddTrainTime(device, 1);
    EXPECT_GE(scheduler_->NumTraining(), 1U);
  }
}

}  // namespace
}  // namespace fgnn
