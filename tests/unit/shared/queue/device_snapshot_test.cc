// What a device sees of the queue, the board and the other devices before it
// chooses its work.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <utility>

#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "tests/unit/shared/queue/device_table_fixture.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

TEST_F(DeviceTableTest, TheSnapshotHasTheTimesOfTheOthers) {
  scheduler_->SetTimes(0, {.sample = 1, .train = 9, .standby = 7});
  EXPECT_EQ(scheduler_->Snapshot(0).num_trainers, 0U);
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 9);
  EXPECT_EQ(scheduler_->Snapshot(0).standby_seconds, 7);
  scheduler_->SetPlan(1, DevicePlan::kTrain);
  scheduler_->SetPlan(2, DevicePlan::kTrain);
  EXPECT_EQ(scheduler_->Snapshot(0).num_trainers, 2U);
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 9);  // Better than nothing.
  scheduler_->SetTimes(1, {.sample = 1, .train = 2, .standby = 0});
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 2);
  scheduler_->SetTimes(2, {.sample = 1, .train = 4, .standby = 0});
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 3);
  EXPECT_TRUE(scheduler_->Snapshot(0).switching);
  EXPECT_EQ(scheduler_->Snapshot(1).plan, DevicePlan::kTrain);
}

TEST_F(DeviceTableTest, TheOthersDoNotCountWhoIsLost) {
  GlobalQueue(segment_.get(), kNoOwner).OpenForSampling(BatchSeq(30));
  scheduler_->SetPlan(1, DevicePlan::kTrain);
  scheduler_->SetPlan(2, DevicePlan::kTrain);
  scheduler_->SetTimes(0, {.sample = 1, .train = 9, .standby = 0});
  scheduler_->SetTimes(1, {.sample = 1, .train = 2, .standby = 0});
  scheduler_->SetTimes(2, {.sample = 1, .train = 4, .standby = 0});
  scheduler_->SetPlan(2, DevicePlan::kLost, DevicePlan::kTrain);
  EXPECT_EQ(sampler_->plan(2), DevicePlan::kLost);
  EXPECT_EQ(scheduler_->Snapshot(0).num_trainers, 1U);
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 2);
  EXPECT_EQ(scheduler_->NumTraining(), 1U);
  EXPECT_EQ(NextWork(scheduler_->Snapshot(2)), DeviceWork::kNothing);
  // Its trainer ends the batch that it is at; nobody knows what that counts as.
  ASSERT_TRUE(trainer_->TryTakeSlice(2, DeviceWork::kTrain));
  EXPECT_EQ(scheduler_->NumTraining(), 2U);
  trainer_->AddTrainTime(2, 100);
  EXPECT_EQ(scheduler_->times(2).train, 4);
  EXPECT_EQ(scheduler_->times(2).standby, 0);
  trainer_->EndSlice(2, DeviceWork::kTrain);
  // Nor does a device with nothing to sample that is lost wait to train.
  scheduler_->SetPlan(0, DevicePlan::kLost);
  scheduler_->SetPlan(1, DevicePlan::kLost);
  EXPECT_EQ(scheduler_->Snapshot(0).num_trainers, 0U);
  EXPECT_EQ(scheduler_->Snapshot(0).train_seconds, 0);
  EXPECT_EQ(scheduler_->NumTraining(), 1U);  // As of nobody.
}

TEST_F(DeviceTableTest, WhoOnlySamplesIsNoTrainerInWaiting) {
  for (uint32_t device = 0; device < 3; ++device) {
    scheduler_->SetPlan(device, DevicePlan::kSample);
  }
  // Without a batch to sample, standby trainers share the steps.
  ASSERT_EQ(scheduler_->NumTraining(), 3U);
  scheduler_->SetPlan(1, DevicePlan::kOnlySample);
  EXPECT_EQ(sampler_->plan(1), DevicePlan::kOnlySample);
  EXPECT_EQ(scheduler_->NumTraining(), 2U);
  scheduler_->SetPlan(1, DevicePlan::kLost, DevicePlan::kOnlySample);
  EXPECT_EQ(scheduler_->released(1), DevicePlan::kOnlySample);
}

TEST_F(DeviceTableTest, ThoseThatTrainShareAStep) {
  GlobalQueue(segment_.get(), kNoOwner).OpenForSampling(BatchSeq(30));
  scheduler_->SetPlan(2, DevicePlan::kTrain);
  EXPECT_EQ(scheduler_->NumTraining(), 1U);
  ASSERT_TRUE(trainer_->TryTakeSlice(0, DeviceWork::kTrain));
  EXPECT_EQ(scheduler_->NumTraining(), 2U);
  // Nothing is left to sample: anyone may wake.
  GlobalQueue queue(segment_.get(), kSampler);
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) ProduceNext(&queue, seq);
  EXPECT_EQ(scheduler_->NumTraining(), 3U);
  // One slot comes free, for which who trains does not go back to sampling.
  trainer_->EndSlice(0, DeviceWork::kTrain);
  GlobalQueue reader(segment_.get(), kTrainer);
  FGNN_ASSERT_OK_AND_ASSIGN(
      std::optional<ReadSlot> slot,
      reader.TryClaimForReading(BatchSeq(0), BatchSeq(4)));
  ASSERT_TRUE(slot.has_value());
  FGNN_ASSERT_OK((*std::move(slot)).Reject());
  EXPECT_EQ(scheduler_->NumTraining(), 2U);
}

// A step all of whose gradients are there is work for a trainer; so are the
// first weights, unless a checkpoint has them.
TEST_F(DeviceTableTest, AStepThatIsDueIsTrainable) {
  GlobalQueue queue(segment_.get(), kTrainer);
  GradientBoard board(segment_.get(), kTrainer);
  GradientBoard scheduler(segment_.get(), kNoOwner);
  queue.OpenForSampling(BatchSeq(30));
  scheduler.OpenForTraining(StepNumber(100));
  EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 1U);
  {
    const std::optional<StepLease> lease = board.TryLease();
    EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 0U);  // Somebody's.
  }
  FGNN_ASSERT_OK(MakeExactStep(*board.TryLease()));
  EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 0U);
  for (BatchSeq seq(0); seq < BatchSeq(3); ++seq) {
    ProduceNext(&queue, seq);
    EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 1U);
    FGNN_ASSERT_OK_AND_ASSIGN(const Turn turn,
                              TrainerTurn(&queue, &board, segment_->options()));
    EXPECT_EQ(turn, Turn::kDone);
  }
  EXPECT_EQ(scheduler_->Snapshot(0).queued_batches, 0U);
  EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 1U);
  EXPECT_EQ(scheduler_->Snapshot(0).batches_left, 7U);

  SegmentOptions resumed = WithDevices(1);
  resumed.first_version = 2;
  UseSegment(resumed);
  EXPECT_EQ(scheduler_->Snapshot(0).trainable_batches, 0U);
}

// Whether no part of the batch is still to be sampled.
bool IsWholePlainly(const Segment& segment, BatchSeq seq) {
  const SlotTable slots(segment);
  for (uint32_t part = 0; part < segment.options().parts; ++part) {
    const TaskNumber task = segment.shape().NumberOf({seq, part});
    const SlotWord word = slots.Load(task);
    const bool is_made =
        word.state == SlotState::kReady || word.state == SlotState::kReading;
    if (word.generation < slots.GenerationOf(task) ||
        (word.generation == slots.GenerationOf(task) && !is_made)) {
      return false;
    }
  }
  return true;
}

// What the snapshot says of slots, by looking at each task of the job.
// Whether no slot of the batch holds an earlier one.
bool HasRoomPlainly(const Segment& segment, BatchSeq seq) {
  const SlotTable slots(segment);
  for (uint32_t part = 0; part < segment.options().parts; ++part) {
    const TaskNumber task = segment.shape().NumberOf({seq, part});
    if (slots.Load(task).generation < slots.GenerationOf(task)) return false;
  }
  return true;
}

SwitchSnapshot CountPlainly(const Segment& segment, BatchSeq limit) {
  const SlotTable slots(segment);
  const GradientBoard board(const_cast<Segment*>(&segment), kNoOwner);
  const JobShape& shape = segment.shape();
  const std::optional<OpenSteps> open = board.FindOpenSteps();
  SwitchSnapshot counted;
  for (const BatchPart& of :
       PartsOf({BatchSeq(0), shape.num_batches()}, segment.options().parts)) {
    const BatchSeq seq = of.seq;
    const TaskNumber task = shape.NumberOf(of);
    const SlotWord word = slots.Load(task);
    const bool is_here = word.generation == slots.GenerationOf(task);
    const bool is_gone = word.generation > slots.GenerationOf(task);
    const bool is_open = open.has_value() && seq < open->last_batch;
    if (is_here && seq < limit && word.owner == kNoOwner) {
      const bool is_free =
          word.state == SlotState::kFree && HasRoomPlainly(segment, seq);
      counted.free_batches += is_free ? 1 : 0;
      counted.missing_batches += is_free && is_open ? 1 : 0;
      counted.queued_batches += word.state == SlotState::kReady ? 1 : 0;
      counted.trainable_batches += word.state == SlotState::kReady && is_open &&
                                           IsWholePlainly(segment, seq)
                                       ? 1
                                       : 0;
    }
    const bool in_epoch =
        open.has_value() &&
        shape.PlaceInEpoch(seq).epoch == shape.EpochOfStep(open->first);
    const bool is_taken =
        is_gone || (is_here && word.state == SlotState::kReading);
    counted.batches_left += in_epoch && !is_taken ? 1 : 0;
  }
  return counted;
}

TEST_F(DeviceTableTest, TheSnapshotCountsAsAPlainLookDoes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t n) { return random() % n; };
    SegmentOptions options = WithDevices(2);
    options.parts = 1 + below(3);
    const auto parts = static_cast<uint32_t>(options.parts);
    options.num_slots = parts == 1
                            ? static_cast<uint32_t>(1 + below(9))
                            : static_cast<uint32_t>(2 + below(4)) * parts;
    options.slot_bytes = 1024;
    options.num_overflow_blocks = 0;
    options.batches_per_epoch = 1 + below(12);
    options.batches_per_step = static_cast<uint32_t>(1 + below(5));
    options.staleness = static_cast<uint32_t>(below(3));
    options.num_parameters = 1;
    UseSegment(options);
    const BatchSeq limit(below(options.batches_per_epoch * 3 + 1));
    GlobalQueue(segment_.get(), kNoOwner).OpenForSampling(limit);
    const Segment::Regions& regions = segment_->regions();
    const uint64_t version = below(segment_->shape().num_steps() + 1);
    SharedWord(regions.control().board_word)
        .store((version << 16) | 2);  // Open.
    GradientBoard(segment_.get(), kNoOwner)
        .OpenForTraining(StepNumber(below(segment_->shape().num_steps() + 2)));
    // Released below `oldest`, and here and there beyond; FREE from the limit
    // on.
    const uint64_t end = limit.value() * parts;
    const uint64_t oldest = below(end + 1);
    regions.control().oldest_task = oldest;
    for (uint64_t task = oldest; task < oldest + options.num_slots; ++task) {
      uint64_t now = task;
      while (now < end && below(2) == 0) now += options.num_slots;
      const auto state =
          now < end ? static_cast<SlotState>(below(4)) : SlotState::kFree;
      const bool is_owned =
          state == SlotState::kWriting || state == SlotState::kReading;
      regions.slot_word(task).store(SlotWord{
          state, is_owned ? kSampler : kNoOwner, now / options.num_slots}
                                        .Pack());
    }
    const SwitchSnapshot found = scheduler_->Snapshot(0);
    const SwitchSnapshot expected = CountPlainly(*segment_, limit);
    EXPECT_EQ(found.free_batches, expected.free_batches);
    EXPECT_EQ(found.missing_batches, expected.missing_batches);
    EXPECT_EQ(found.queued_batches, expected.queued_batches);
    EXPECT_EQ(found.trainable_batches, expected.trainable_batches);
    EXPECT_EQ(found.batches_left, expected.batches_left);
  }
}

}  // namespace
}  // namespace fgnn
