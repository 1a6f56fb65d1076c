// One process: order, states, leases, overflow blocks.
#include "shared/queue/global_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "shared/queue/segment_layout.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kOtherSampler{2};
constexpr OwnerIndex kTrainer{3};
constexpr OwnerIndex kOtherTrainer{4};
constexpr uint32_t kManyEdges = 500;  // More than a slot holds.

void ExpectCounts(const GlobalQueue& queue, uint32_t free, uint32_t writing,
                  uint32_t ready, uint32_t reading) {
  const SlotCounts counts = queue.Counts();
  EXPECT_EQ(counts.free, free);
  EXPECT_EQ(counts.writing, writing);
  EXPECT_EQ(counts.ready, ready);
  EXPECT_EQ(counts.reading, reading);
}

class GlobalQueueTest : public testing::Test {
 protected:
  WriteSlot ClaimWrite(GlobalQueue* queue, BatchSeq expected) {
    absl::StatusOr<std::optional<WriteSlot>> slot = queue->TryClaimForWriting();
    EXPECT_THAT(slot, IsOk());
    EXPECT_TRUE(slot->has_value());
    EXPECT_EQ((*slot)->seq(), expected);
    return *std::move(*slot);
  }
  ReadSlot ClaimRead(GlobalQueue* queue, BatchSeq expected) {
    absl::StatusOr<std::optional<ReadSlot>> slot =
        queue->TryClaimForReading(BatchSeq(0), kAll);
    EXPECT_THAT(slot, IsOk());
    EXPECT_TRUE(slot->has_value());
    EXPECT_EQ((*slot)->seq(), expected);
    return *std::move(*slot);
  }
  bool NothingToWrite(GlobalQueue* queue) {
    absl::StatusOr<std::optional<WriteSlot>> slot = queue->TryClaimForWriting();
    return slot.ok() && !slot->has_value();
  }
  bool NothingToRead(GlobalQueue* queue, BatchSeq first = BatchSeq(0),
                     BatchSeq last = kAll) {
    absl::StatusOr<std::optional<ReadSlot>> slot =
        queue->TryClaimForReading(first, last);
    return slot.ok() && !slot->has_value();
  }
  // Publishes a task in the overflow block of the slot's process.
  void PublishInOverflow(WriteSlot slot) {
    EXPECT_THAT(WriteTestTask(slot.block(), slot.seq(), kManyEdges),
                ResourceExhausted());
    ASSERT_THAT(slot.SwitchToOverflow(NoWait()), IsOk());
    ASSERT_THAT(WriteTestTask(slot.block(), slot.seq(), kManyEdges), IsOk());
    ASSERT_THAT(std::move(slot).Publish(), IsOk());
  }

  static constexpr BatchSeq kAll{UINT64_MAX};
  std::unique_ptr<Segment> segment_ = MakeSegment(SmallOptions());
  GlobalQueue scheduler_{segment_.get(), kNoOwner};
  GlobalQueue sampler_{segment_.get(), kSampler, 0};
  GlobalQueue other_sampler_{segment_.get(), kOtherSampler, 1};
  GlobalQueue trainer_{segment_.get(), kTrainer};
  GlobalQueue other_trainer_{segment_.get(), kOtherTrainer};
};

TEST_F(GlobalQueueTest, NothingIsClaimedBeforeTheSchedulerOpens) {
  EXPECT_TRUE(NothingToWrite(&sampler_));
  scheduler_.OpenForSampling(BatchSeq(2));
  scheduler_.OpenForSampling(BatchSeq(1));  // Never lowers.
  EXPECT_EQ(scheduler_.sampling_limit(), BatchSeq(2));
  ProduceNext(&sampler_, BatchSeq(0));
  ProduceNext(&sampler_, BatchSeq(1));
  EXPECT_TRUE(NothingToWrite(&sampler_));
}

TEST_F(GlobalQueueTest, EveryBatchOfTheJobPassesOnceInOrder) {
  scheduler_.OpenForSampling(kAll);  // Beyond the job's end.
  for (BatchSeq seq(0); seq < BatchSeq(30); ++seq) {
    ProduceNext(&sampler_, seq);
    ReadSlot slot = ClaimRead(&trainer_, seq);
    EXPECT_TRUE(HoldsTestTask(slot.block(), seq));
    EXPECT_EQ(slot.sampler(), kSampler);
    ASSERT_THAT(std::move(slot).Release(), IsOk());
  }
  EXPECT_TRUE(NothingToWrite(&sampler_));
  EXPECT_TRUE(NothingToRead(&trainer_));
  ExpectCounts(scheduler_, 4, 0, 0, 0);
}

TEST_F(GlobalQueueTest, AFullQueueHoldsSamplersBack) {
  scheduler_.OpenForSampling(BatchSeq(30));
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) ProduceNext(&sampler_, seq);
  EXPECT_TRUE(NothingToWrite(&sampler_));
  ExpectCounts(scheduler_, 0, 0, 4, 0);
  ReadSlot first = ClaimRead(&trainer_, BatchSeq(0));
  ReadSlot second = ClaimRead(&other_trainer_, BatchSeq(1));
  EXPECT_TRUE(NothingToWrite(&sampler_));  // Read, not yet released.
  ASSERT_THAT(std::move(second).Release(), IsOk());
  ProduceNext(&sampler_,
              BatchSeq(5));  // Batch 4 lives in slot 0, which is being read.
  ASSERT_THAT(std::move(first).Release(), IsOk());
  ProduceNext(&sampler_, BatchSeq(4));
}

TEST_F(GlobalQueueTest, TrainersTakeTheLowestReadyOneOfTheirRange) {
  scheduler_.OpenForSampling(BatchSeq(30));
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) ProduceNext(&sampler_, seq);
  EXPECT_TRUE(NothingToRead(&trainer_, BatchSeq(4), kAll));
  EXPECT_TRUE(NothingToRead(&trainer_, BatchSeq(2), BatchSeq(2)));
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto slot, trainer_.TryClaimForReading(BatchSeq(2), BatchSeq(4)));
  ASSERT_TRUE(slot.has_value());
  EXPECT_EQ(slot->seq(), BatchSeq(2));
  ClaimRead(&other_trainer_, BatchSeq(0));
}

TEST_F(GlobalQueueTest, AnAbandonedSlotIsClaimedAgain) {
  scheduler_.OpenForSampling(BatchSeq(30));
  { const WriteSlot abandoned = ClaimWrite(&sampler_, BatchSeq(0)); }
  ProduceNext(&other_sampler_, BatchSeq(0));
  { const ReadSlot abandoned = ClaimRead(&trainer_, BatchSeq(0)); }
  ReadSlot again = ClaimRead(&other_trainer_, BatchSeq(0));
  EXPECT_TRUE(HoldsTestTask(again.block(), BatchSeq(0)));
  EXPECT_EQ(again.sampler(), kOtherSampler);
}

TEST_F(GlobalQueueTest, ARejectedBatchIsSampledAgain) {
  scheduler_.OpenForSampling(BatchSeq(30));
  ProduceNext(&sampler_, BatchSeq(0));
  ProduceNext(&sampler_, BatchSeq(1));
  ASSERT_THAT(ClaimRead(&trainer_, BatchSeq(0)).Reject(), IsOk());
  ProduceNext(&other_sampler_, BatchSeq(0));
  EXPECT_TRUE(
      HoldsTestTask(ClaimRead(&trainer_, BatchSeq(0)).block(), BatchSeq(0)));
}

TEST_F(GlobalQueueTest, AClaimEndsOnce) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot write = ClaimWrite(&sampler_, BatchSeq(0));
  WriteSlot moved = std::move(write);
  EXPECT_THAT(std::move(write).Publish(), FailedPrecondition());
  EXPECT_THAT(write.SwitchToOverflow(NoWait()), FailedPrecondition());
  ASSERT_THAT(std::move(moved).Publish(), IsOk());
  ReadSlot read = ClaimRead(&trainer_, BatchSeq(0));
  ASSERT_THAT(std::move(read).Release(), IsOk());
  EXPECT_THAT(std::move(read).Release(), FailedPrecondition());
  EXPECT_THAT(std::move(read).Reject(), FailedPrecondition());
}

TEST_F(GlobalQueueTest, AStaleOwnerCannotTouchASlotThatHasMovedOn) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot stale_write = ClaimWrite(&sampler_, BatchSeq(0));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kSampler), SizeIs(1));
  ProduceNext(&other_sampler_, BatchSeq(0));
  EXPECT_THAT(std::move(stale_write).Publish(), FailedPrecondition("batch 0"));

  ReadSlot stale_read = ClaimRead(&trainer_, BatchSeq(0));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kTrainer), SizeIs(1));
  ReadSlot read = ClaimRead(&other_trainer_, BatchSeq(0));
  EXPECT_THAT(std::move(stale_read).Release(), FailedPrecondition("READING"));
  ASSERT_THAT(std::move(read).Release(), IsOk());
  ExpectCounts(scheduler_, 4, 0, 0, 0);

  // The same owner, a generation later.
  ProduceNext(&sampler_, BatchSeq(1));
  ReadSlot old = ClaimRead(&trainer_, BatchSeq(1));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kTrainer), SizeIs(1));
  ASSERT_THAT(ClaimRead(&other_trainer_, BatchSeq(1)).Release(), IsOk());
  for (BatchSeq seq(2); seq < BatchSeq(6); ++seq) ProduceNext(&sampler_, seq);
  for (BatchSeq seq(2); seq < BatchSeq(5); ++seq) {
    ASSERT_THAT(ClaimRead(&trainer_, seq).Release(), IsOk());
  }
  const ReadSlot holder = ClaimRead(&trainer_, BatchSeq(5));
  EXPECT_THAT(std::move(old).Release(), FailedPrecondition());
}

TEST_F(GlobalQueueTest, ReclaimingIsIdempotentAndTouchesNobodyElse) {
  scheduler_.OpenForSampling(BatchSeq(30));
  ProduceNext(&sampler_, BatchSeq(0));
  ProduceNext(&sampler_, BatchSeq(1));
  const WriteSlot dead_write = ClaimWrite(&sampler_, BatchSeq(2));
  const WriteSlot live_write = ClaimWrite(&other_sampler_, BatchSeq(3));
  const ReadSlot dead_read = ClaimRead(&trainer_, BatchSeq(0));
  const ReadSlot live_read = ClaimRead(&other_trainer_, BatchSeq(1));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kNoOwner), IsEmpty());
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kSampler), SizeIs(1));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kSampler), IsEmpty());
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kTrainer), SizeIs(1));
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kTrainer), IsEmpty());
  ExpectCounts(scheduler_, 1, 1, 1, 1);
}

TEST_F(GlobalQueueTest, ALargeTaskTravelsInTheOverflowBlock) {
  scheduler_.OpenForSampling(BatchSeq(30));
  for (BatchSeq seq(0); seq < BatchSeq(20); ++seq) {
    PublishInOverflow(ClaimWrite(&sampler_, seq));
    ReadSlot slot = ClaimRead(&trainer_, seq);
    EXPECT_EQ(slot.block().size(), SmallOptions().overflow_bytes);
    EXPECT_TRUE(HoldsTestTask(slot.block(), seq));
    // Freed by whatever ends the task.
    if (seq.value() % 3 == 0) {
      ASSERT_THAT(std::move(slot).Reject(), IsOk());
      PublishInOverflow(ClaimWrite(&sampler_, seq));
      slot = ClaimRead(&trainer_, seq);
    }
    ASSERT_THAT(std::move(slot).Release(), IsOk());
  }
}

TEST_F(GlobalQueueTest, AnOverflowBlockInUseIsWaitedFor) {
  scheduler_.OpenForSampling(BatchSeq(30));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(0)));
  WriteSlot next = ClaimWrite(&sampler_, BatchSeq(1));
  // Batch 0 comes first: it must not be retracted.
  EXPECT_THAT(next.SwitchToOverflow(NoWait()), DeadlineExceeded());
  // The slot's own block still serves.
  ASSERT_THAT(WriteTestTask(next.block(), BatchSeq(1), 5), IsOk());
  ReadSlot reading = ClaimRead(&trainer_, BatchSeq(0));
  EXPECT_THAT(next.SwitchToOverflow(NoWait()), DeadlineExceeded());
  EXPECT_TRUE(HoldsTestTask(reading.block(), BatchSeq(0)));
  ASSERT_THAT(std::move(reading).Release(), IsOk());
  EXPECT_THAT(next.SwitchToOverflow(NoWait()), IsOk());
  EXPECT_THAT(next.SwitchToOverflow(NoWait()), FailedPrecondition());
}

TEST_F(GlobalQueueTest, ALaterReadyTaskIsRetractedFromTheOverflowBlock) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot early = ClaimWrite(&sampler_, BatchSeq(0));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(1)));
  PublishInOverflow(std::move(early));
  ExpectCounts(scheduler_, 3, 0, 1, 0);
  EXPECT_TRUE(
      HoldsTestTask(ClaimRead(&trainer_, BatchSeq(0)).block(), BatchSeq(0)));
  ASSERT_THAT(ClaimRead(&trainer_, BatchSeq(0)).Release(), IsOk());
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(1)));
  EXPECT_TRUE(
      HoldsTestTask(ClaimRead(&trainer_, BatchSeq(1)).block(), BatchSeq(1)));
}

// Slots come free out of order, so batch 4 may be missing while 5 lies in the
// overflow block and 6 wants it. Trainers that wait for 4 will not take 5.
TEST_F(GlobalQueueTest, AMissingBatchRetractsTheReadyOnesBehindIt) {
  scheduler_.OpenForSampling(BatchSeq(30));
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) ProduceNext(&sampler_, seq);
  ReadSlot slow = ClaimRead(&trainer_, BatchSeq(0));
  ASSERT_THAT(ClaimRead(&other_trainer_, BatchSeq(1)).Release(), IsOk());
  ASSERT_THAT(ClaimRead(&other_trainer_, BatchSeq(2)).Release(), IsOk());
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(5)));
  WriteSlot next = ClaimWrite(&sampler_, BatchSeq(6));
  EXPECT_THAT(next.SwitchToOverflow(NoWait()), DeadlineExceeded());
  ASSERT_THAT(std::move(slow).Release(), IsOk());
  PublishInOverflow(std::move(next));
  ProduceNext(&sampler_, BatchSeq(4));
  PublishInOverflow(
      ClaimWrite(&sampler_, BatchSeq(5)));  // Retracts 6 in its turn.
  for (const BatchSeq seq : {BatchSeq(3), BatchSeq(4), BatchSeq(5)}) {
    ReadSlot slot = ClaimRead(&trainer_, seq);
    EXPECT_TRUE(HoldsTestTask(slot.block(), seq));
    ASSERT_THAT(std::move(slot).Release(), IsOk());
  }
  EXPECT_TRUE(NothingToRead(&trainer_));
}

TEST_F(GlobalQueueTest, ALaterTaskThatIsBeingReadIsNotRetracted) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot early = ClaimWrite(&sampler_, BatchSeq(0));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(1)));
  const ReadSlot reading = ClaimRead(&trainer_, BatchSeq(1));
  EXPECT_THAT(early.SwitchToOverflow(NoWait()), DeadlineExceeded());
  EXPECT_TRUE(HoldsTestTask(reading.block(), BatchSeq(1)));
}

TEST_F(GlobalQueueTest, EverySamplerHasItsOwnOverflowBlock) {
  scheduler_.OpenForSampling(BatchSeq(30));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(0)));
  PublishInOverflow(ClaimWrite(&other_sampler_, BatchSeq(1)));
  const ReadSlot first = ClaimRead(&trainer_, BatchSeq(0));
  const ReadSlot second = ClaimRead(&trainer_, BatchSeq(1));
  EXPECT_TRUE(HoldsTestTask(first.block(), BatchSeq(0)));
  EXPECT_TRUE(HoldsTestTask(second.block(), BatchSeq(1)));
}

TEST_F(GlobalQueueTest, TheOverflowBlockOfADeadSamplerIsRecovered) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot dead = ClaimWrite(&sampler_, BatchSeq(0));
  ASSERT_THAT(dead.SwitchToOverflow(NoWait()), IsOk());
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kSampler), SizeIs(1));
  // The one that follows it has another index and the same block.
  GlobalQueue successor(segment_.get(), OwnerIndex{9}, 0);
  PublishInOverflow(ClaimWrite(&successor, BatchSeq(0)));
  EXPECT_TRUE(
      HoldsTestTask(ClaimRead(&trainer_, BatchSeq(0)).block(), BatchSeq(0)));
}

// A process was killed after its slot had become FREE and before its overflow
// block had: the block's word names a batch that lies elsewhere by now.
TEST_F(GlobalQueueTest, AnOverflowWordThatNobodyFreedIsStale) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot dead = ClaimWrite(&sampler_, BatchSeq(0));
  ASSERT_THAT(dead.SwitchToOverflow(NoWait()), IsOk());
  segment_->regions().slot_word(0).store(0);  // FREE, generation 0.
  ProduceNext(&other_sampler_, BatchSeq(0));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(1)));
  const ReadSlot first = ClaimRead(&trainer_, BatchSeq(0));  // Not retracted.
  const ReadSlot second = ClaimRead(&trainer_, BatchSeq(1));
  EXPECT_TRUE(HoldsTestTask(first.block(), BatchSeq(0)));
  EXPECT_TRUE(HoldsTestTask(second.block(), BatchSeq(1)));
}

TEST_F(GlobalQueueTest, WhoHasNoOverflowBlockIsTold) {
  scheduler_.OpenForSampling(BatchSeq(30));
  GlobalQueue none(segment_.get(), OwnerIndex{5});
  GlobalQueue beyond(segment_.get(), OwnerIndex{6}, 2);
  EXPECT_THAT(ClaimWrite(&none, BatchSeq(0)).SwitchToOverflow(NoWait()),
              FailedPrecondition());
  EXPECT_THAT(ClaimWrite(&beyond, BatchSeq(0)).SwitchToOverflow(NoWait()),
              FailedPrecondition());
}

TEST_F(GlobalQueueTest, StopCancelsEveryClaimAndWait) {
  scheduler_.OpenForSampling(BatchSeq(30));
  WriteSlot held = ClaimWrite(&sampler_, BatchSeq(0));
  PublishInOverflow(ClaimWrite(&sampler_, BatchSeq(1)));
  const ReadSlot reading = ClaimRead(&trainer_, BatchSeq(1));
  EXPECT_FALSE(scheduler_.stopped());
  scheduler_.Stop();
  EXPECT_TRUE(sampler_.stopped());
  EXPECT_THAT(sampler_.ClaimForWriting(FarDeadline()), Cancelled());
  EXPECT_THAT(trainer_.ClaimForReading(BatchSeq(0), kAll, FarDeadline()),
              Cancelled());
  EXPECT_THAT(held.SwitchToOverflow(FarDeadline()), Cancelled());
}

TEST_F(GlobalQueueTest, TheSchedulerClaimsNothing) {
  scheduler_.OpenForSampling(BatchSeq(30));
  EXPECT_THAT(scheduler_.TryClaimForWriting(), FailedPrecondition());
  EXPECT_THAT(scheduler_.TryClaimForReading(BatchSeq(0), kAll),
              FailedPrecondition());
}

}  // namespace
}  // namespace fgnn
