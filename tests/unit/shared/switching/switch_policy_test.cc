#include "shared/switching/switch_policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fgnn {
namespace {

// A device that is planned to sample, beside two that train: the queue is half
// full, and the epoch long enough for a profit.
SwitchSnapshot Sampling() {
  SwitchSnapshot snapshot;
  snapshot.plan = DevicePlan::kSample;
  snapshot.last = DeviceWork::kSample;
  snapshot.num_slots = 8;
  snapshot.free_batches = 4;
  snapshot.queued_batches = 4;
  snapshot.trainable_batches = 2;
  snapshot.batches_left = 100;
  snapshot.num_trainers = 2;
  snapshot.train_seconds = 0.01;
  snapshot.standby_seconds = 0.02;
  return snapshot;
}

// The same with a full queue.
SwitchSnapshot Full() {
  SwitchSnapshot snapshot = Sampling();
  snapshot.free_batches = 0;
  snapshot.queued_batches = 8;
  return snapshot;
}

TEST(SwitchProfitTest, IsWhatThePaperSays) {
  SwitchSnapshot snapshot = Sampling();
  EXPECT_DOUBLE_EQ(SwitchProfit(snapshot), 100 * 0.01 / 2 - 0.02);
  snapshot.standby_seconds = 0;  // Not known: as a trainer's.
  EXPECT_DOUBLE_EQ(SwitchProfit(snapshot), 100 * 0.01 / 2 - 0.01);
  snapshot.batches_left = 0;
  EXPECT_DOUBLE_EQ(SwitchProfit(snapshot), -0.01);
  snapshot.num_trainers = 0;
  EXPECT_TRUE(std::isinf(SwitchProfit(snapshot)));
  EXPECT_GT(SwitchProfit(snapshot), 0);
}

TEST(NextWorkTest, ATrainerTrainsWhatThereIs) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.plan = DevicePlan::kTrain;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.trainable_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
}

TEST(NextWorkTest, ASamplerSamplesUntilNothingIsFree) {
  EXPECT_EQ(NextWork(Sampling()), DeviceWork::kSample);
  SwitchSnapshot snapshot = Sampling();
  snapshot.last = DeviceWork::kNothing;
  snapshot.free_batches = 1;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.switching = false;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
}

TEST(NextWorkTest, AStandbyTrainerWakesForAProfit) {
  SwitchSnapshot snapshot = Full();
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.batches_left = 4;  // 4 * 10 ms / 2 is just what it would take.
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  snapshot.batches_left = 5;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.trainable_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  // Nobody has measured anything: those that are planned to will train.
  snapshot = Full();
  snapshot.train_seconds = 0;
  snapshot.standby_seconds = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
}

TEST(NextWorkTest, NobodyWakesWithoutSwitching) {
  SwitchSnapshot snapshot = Full();
  snapshot.switching = false;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
}

TEST(NextWorkTest, HavingTrainedItComesBackForHalfAQueue) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.last = DeviceWork::kTrain;
  snapshot.free_batches = 3;
  snapshot.queued_batches = 5;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.free_batches = 4;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  // Before the trainers run out of tasks.
  snapshot.free_batches = 1;
  snapshot.queued_batches = 2;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  // The queue of one.
  snapshot.num_slots = 1;
  snapshot.queued_batches = 9;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
}

// Else nobody would ever sample it: trainers wait, and the queue stays full.
TEST(NextWorkTest, HavingTrainedItComesBackForABatchThatWasLost) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.last = DeviceWork::kTrain;
  snapshot.free_batches = 1;
  snapshot.queued_batches = 7;
  snapshot.trainable_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  snapshot.missing_batches = 1;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.trainable_batches = 1;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
}

TEST(NextWorkTest, AloneItTrainsUntilNothingIsLeftToTrain) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.num_trainers = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.last = DeviceWork::kTrain;
  snapshot.free_batches = 7;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.trainable_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.free_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  // Whatever was measured, or is left: nobody else trains.
  snapshot.trainable_batches = 1;
  snapshot.batches_left = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
}

TEST(NextWorkTest, WhoIsLostDoesNothing) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.plan = DevicePlan::kLost;
  for (const uint32_t num_trainers : {0U, 2U}) {
    for (const DeviceWork last :
         {DeviceWork::kNothing, DeviceWork::kSample, DeviceWork::kTrain}) {
      snapshot.num_trainers = num_trainers;
      snapshot.last = last;
      EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
    }
  }
}

TEST(NextWorkTest, WhoOnlySamplesNeverTrains) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.plan = DevicePlan::kOnlySample;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot = Full();
  ASSERT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.plan = DevicePlan::kOnlySample;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  snapshot.num_trainers = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
}

TEST(NextWorkTest, WhoSharesTimeTakesABatchOfEach) {
  SwitchSnapshot snapshot = Sampling();
  snapshot.plan = DevicePlan::kTimeShare;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.last = DeviceWork::kTrain;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.free_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kTrain);
  snapshot.last = DeviceWork::kSample;
  snapshot.trainable_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
  snapshot.free_batches = 1;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
}

}  // namespace
}  // namespace fgnn
