// Batches of several parts: samplers claim a batch's free parts together, and
// trainers take parts of whole batches alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kOtherSampler{2};
constexpr OwnerIndex kTrainer{3};
constexpr OwnerIndex kOtherTrainer{4};
constexpr BatchSeq kAll{UINT64_MAX};
constexpr uint32_t kManyEdges = 500;  // More than a slot holds.

SegmentOptions OptionsOf(uint32_t parts) {
  SegmentOptions options = SmallOptions();
  options.parts = parts;
  options.num_slots = 4 * parts;
  options.num_overflow_blocks = 2 * parts;
  return options;
}

// Returns the parts of the slots, all of batch `seq`.
std::vector<uint32_t> PartsIn(const std::vector<WriteSlot>& slots,
                              BatchSeq seq) {
  std::vector<uint32_t> parts;
  for (const WriteSlot& slot : slots) {
    EXPECT_EQ(slot.seq(), seq);
    EXPECT_EQ(slot.batch_part().seq, seq);
    parts.push_back(slot.batch_part().part);
  }
  return parts;
}

// A queue of 4 batches, two samplers with an overflow block for each part, and
// two trainers.
class BatchPartsTest : public testing::Test {
 protected:
  void UseSegment(const SegmentOptions& options) {
    segment_ = MakeSegment(options);
    const auto parts = static_cast<uint32_t>(options.parts);
    scheduler_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSampler, 0);
    other_sampler_.emplace(segment_.get(), kOtherSampler, parts);
    trainer_.emplace(segment_.get(), kTrainer);
    other_trainer_.emplace(segment_.get(), kOtherTrainer);
    scheduler_->OpenForSampling(kAll);
  }
  void SetUp() override { UseSegment(OptionsOf(3)); }

  static std::vector<WriteSlot> Claim(GlobalQueue& queue) {
    absl::StatusOr<std::vector<WriteSlot>> slots =
        queue.TryClaimBatchForWriting();
    EXPECT_THAT(slots, IsOk());
    return slots.ok() ? *std::move(slots) : std::vector<WriteSlot>();
  }
  // Claims a batch, writes small tasks and publishes them in order.
  static void Produce(GlobalQueue& queue, BatchSeq seq) {
    for (WriteSlot& slot : Claim(queue)) Publish(std::move(slot), seq);
  }
  static void Publish(WriteSlot slot, BatchSeq seq) {
    ASSERT_EQ(slot.seq(), seq);
    ASSERT_THAT(WriteTestTask(slot.block(), seq, 5), IsOk());
    ASSERT_THAT(std::move(slot).Publish(), IsOk());
  }
  static void WriteLarge(WriteSlot& slot) {
    EXPECT_THAT(WriteTestTask(slot.block(), slot.seq(), kManyEdges),
                ResourceExhausted());
    ASSERT_THAT(slot.SwitchToOverflow(NoWait()), IsOk());
    ASSERT_THAT(WriteTestTask(slot.block(), slot.seq(), kManyEdges), IsOk());
  }
  static void ProduceLarge(GlobalQueue& queue, BatchSeq seq) {
    std::vector<WriteSlot> slots = Claim(queue);
    ASSERT_FALSE(slots.empty());
    for (WriteSlot& slot : slots) WriteLarge(slot);
    for (WriteSlot& slot : slots) {
      ASSERT_EQ(slot.seq(), seq);
      ASSERT_THAT(std::move(slot).Publish(), IsOk());
    }
  }
  static std::optional<ReadSlot> Read(
      GlobalQueue& queue, std::optional<uint32_t> home_part = std::nullopt) {
    auto slot = queue.TryClaimForReading(BatchSeq(0), kAll, home_part);
    EXPECT_THAT(slot, IsOk());
    return slot.ok() ? *std::move(slot) : std::nullopt;
  }
  static void ReadAll(GlobalQueue& queue, const BatchPart& expected) {
    std::optional<ReadSlot> slot = Read(queue);
    ASSERT_TRUE(slot.has_value());
    ASSERT_EQ(slot->batch_part(), expected);
    ASSERT_THAT(std::move(*slot).Release(), IsOk());
  }

  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> scheduler_;
  std::optional<GlobalQueue> sampler_;
  std::optional<GlobalQueue> other_sampler_;
  std::optional<GlobalQueue> trainer_;
  std::optional<GlobalQueue> other_trainer_;
};

TEST(TasksOfBatchTest, TheTasksOfABatchLieTogether) {
  for (const uint32_t parts : {1U, 2U, 3U}) {
    const JobShape shape(OptionsOf(parts));
    for (BatchSeq seq(0); seq < shape.num_batches(); ++seq) {
      const TaskNumber first = shape.NumberOf({seq, 0});
      for (uint32_t part = 0; part < parts; ++part) {
        const TaskNumber task = shape.NumberOf({seq, part});
        EXPECT_EQ(TasksOfBatchOf(shape, task),
                  (TaskRange{first, first + parts}));
        EXPECT_EQ(shape.SlotOf(task).slot, shape.SlotOf(first).slot + part);
        EXPECT_EQ(shape.SlotOf(task).generation,
                  shape.SlotOf(first).generation);
      }
    }
  }
}

TEST_F(BatchPartsTest, ASamplerClaimsAllPartsOfABatch) {
  const std::vector<WriteSlot> first = Claim(*sampler_);
  EXPECT_THAT(PartsIn(first, BatchSeq(0)), ElementsAre(0, 1, 2));
  const std::vector<WriteSlot> second = Claim(*other_sampler_);
  EXPECT_THAT(PartsIn(second, BatchSeq(1)), ElementsAre(0, 1, 2));
  EXPECT_EQ(scheduler_->Counts().writing, 6U);
  EXPECT_EQ(scheduler_->Counts().free, 6U);
}

TEST_F(BatchPartsTest, WithOnePartTheClaimIsThatOfATask) {
  UseSegment(OptionsOf(1));
  for (BatchSeq seq(0); seq < BatchSeq(4); seq = seq + 2) {
    EXPECT_THAT(PartsIn(Claim(*sampler_), seq), ElementsAre(0));  // Given back.
    Produce(*sampler_, seq);
    ProduceNext(&*sampler_, seq + 1);
  }
  EXPECT_THAT(Claim(*sampler_), IsEmpty());
}

// Else the batch would be drawn again for each of its parts.
TEST_F(BatchPartsTest, ABatchIsClaimedOnceAllOfItsPartsHaveRoom) {
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) Produce(*sampler_, seq);
  EXPECT_THAT(Claim(*sampler_), IsEmpty());
  // Batch 4 lives in the slots of batch 0, and part 1 of that is being read.
  ReadAll(*trainer_, {BatchSeq(0), 0});
  std::optional<ReadSlot> reading = Read(*trainer_);
  ASSERT_TRUE(reading.has_value());
  ReadAll(*other_trainer_, {BatchSeq(0), 2});
  EXPECT_THAT(Claim(*sampler_), IsEmpty());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto one, sampler_->TryClaimForWriting());
  EXPECT_FALSE(one.has_value());
  ASSERT_THAT(std::move(*reading).Release(), IsOk());
  EXPECT_THAT(PartsIn(Claim(*other_sampler_), BatchSeq(4)),
              ElementsAre(0, 1, 2));
}

// The next sampler makes the rest. No trainer takes the part that is there
// meanwhile.
TEST_F(BatchPartsTest, ASamplerMayDieBetweenTwoPublications) {
  std::vector<WriteSlot> dying = Claim(*sampler_);
  ASSERT_THAT(dying, SizeIs(3));
  Publish(std::move(dying[0]), BatchSeq(0));
  EXPECT_FALSE(Read(*trainer_).has_value());
  EXPECT_THAT(
      scheduler_->ReclaimSlotsOf(kSampler),
      ElementsAre(BatchPart{BatchSeq(0), 1}, BatchPart{BatchSeq(0), 2}));
  EXPECT_FALSE(Read(*trainer_).has_value());
  std::vector<WriteSlot> rest = Claim(*other_sampler_);
  EXPECT_THAT(PartsIn(rest, BatchSeq(0)), ElementsAre(1, 2));
  Publish(std::move(rest[0]), BatchSeq(0));
  EXPECT_FALSE(Read(*trainer_).has_value());
  Publish(std::move(rest[1]), BatchSeq(0));
  for (const uint32_t part : {0U, 1U, 2U}) {
    ReadAll(*trainer_, {BatchSeq(0), part});
  }
}

TEST_F(BatchPartsTest, ABatchClaimWaitsAndEndsAsAnyClaim) {
  UseSegment(OptionsOf(2));
  EXPECT_THAT(scheduler_->TryClaimBatchForWriting(), FailedPrecondition());
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) Produce(*sampler_, seq);
  const auto none = sampler_->ClaimBatchForWriting(NoWait());
  ASSERT_THAT(none, IsOk());
  EXPECT_THAT(*none, IsEmpty());
  for (const uint32_t part : {0U, 1U}) ReadAll(*trainer_, {BatchSeq(0), part});
  const auto some = sampler_->ClaimBatchForWriting(FarDeadline());
  ASSERT_THAT(some, IsOk());
  EXPECT_THAT(PartsIn(*some, BatchSeq(4)), ElementsAre(0, 1));
  scheduler_->Stop();
  EXPECT_THAT(sampler_->ClaimBatchForWriting(FarDeadline()), Cancelled());
  EXPECT_THAT(trainer_->TryClaimPart({BatchSeq(0), 1}), Cancelled());
}

TEST_F(BatchPartsTest, ATrainerMayAskForItsHomePart) {
  Produce(*sampler_, BatchSeq(0));
  Produce(*sampler_, BatchSeq(1));
  const std::optional<ReadSlot> first = Read(*trainer_, 2);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->batch_part(), (BatchPart{BatchSeq(0), 2}));
  const std::optional<ReadSlot> second = Read(*trainer_, 2);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->batch_part(), (BatchPart{BatchSeq(1), 2}));
  EXPECT_FALSE(Read(*trainer_, 2).has_value());
  const std::optional<ReadSlot> any = Read(*trainer_);
  ASSERT_TRUE(any.has_value());
  EXPECT_EQ(any->batch_part(), (BatchPart{BatchSeq(0), 0}));
  // Also in slots whose next task is beyond the lowest one's window.
  UseSegment(OptionsOf(2));
  Produce(*sampler_, BatchSeq(0));
  Produce(*sampler_, BatchSeq(1));
  ReadAll(*trainer_, {BatchSeq(0), 0});
  const std::optional<ReadSlot> slow = Read(*trainer_);
  Produce(*sampler_, BatchSeq(2));
  Produce(*sampler_, BatchSeq(3));
  for (const uint32_t part : {0U, 1U}) ReadAll(*trainer_, {BatchSeq(1), part});
  // Batch 4 has no room while a part of batch 0 is read.
  EXPECT_THAT(PartsIn(Claim(*sampler_), BatchSeq(5)), ElementsAre(0, 1));
  const std::optional<ReadSlot> home = Read(*trainer_, 1);
  ASSERT_TRUE(home.has_value());
  EXPECT_EQ(home->batch_part(), (BatchPart{BatchSeq(2), 1}));
}

// A trainer that waits for a part of a batch that is under way sees what has
// become of that part, and may take it.
TEST_F(BatchPartsTest, AMissingPartIsSeenAndTaken) {
  const BatchPart missing{BatchSeq(0), 1};
  EXPECT_EQ(trainer_->StateOf(missing), SlotState::kFree);
  EXPECT_EQ(trainer_->StateOf({BatchSeq(4), 1}), SlotState::kFree);  // Later.
  {
    const std::vector<WriteSlot> writing = Claim(*sampler_);
    EXPECT_EQ(trainer_->StateOf(missing), SlotState::kWriting);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto none, trainer_->TryClaimPart(missing));
    EXPECT_FALSE(none.has_value());
  }
  Produce(*sampler_, BatchSeq(0));
  EXPECT_EQ(trainer_->StateOf(missing), SlotState::kReady);
  EXPECT_EQ(trainer_->StateOf({BatchSeq(4), 1}), SlotState::kFree);
  std::optional<ReadSlot> other = Read(*other_trainer_, 1);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(trainer_->StateOf(missing), SlotState::kReading);
  // Part 0 is claimed while the batch is whole. Then part 1 turns out damaged.
  std::optional<ReadSlot> own = Read(*trainer_);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->batch_part(), (BatchPart{BatchSeq(0), 0}));
  ASSERT_THAT(std::move(*other).Reject(), IsOk());
  EXPECT_EQ(trainer_->StateOf(missing), SlotState::kFree);
  EXPECT_FALSE(Read(*other_trainer_).has_value());  // Part 2 has to wait.
  // Whoever knows that the batch is under way may take part 2 all the same.
  FGNN_ASSERT_OK_AND_ASSIGN(const auto last,
                            other_trainer_->TryClaimPart({BatchSeq(0), 2}));
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->batch_part(), (BatchPart{BatchSeq(0), 2}));
  EXPECT_TRUE(HoldsTestTask(last->block(), BatchSeq(0)));
  Produce(*sampler_, BatchSeq(0));
  FGNN_ASSERT_OK_AND_ASSIGN(auto again, other_trainer_->TryClaimPart(missing));
  ASSERT_TRUE(again.has_value());
  ASSERT_THAT(std::move(*again).Release(), IsOk());
  EXPECT_EQ(trainer_->StateOf(missing), std::nullopt);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto done, trainer_->TryClaimPart(missing));
  EXPECT_FALSE(done.has_value());
}

// With one block a sampler, the second large part would wait for the first one,
// which is not published, or not taken, before the second one is there.
TEST_F(BatchPartsTest, AllPartsOfABatchMayBeLarge) {
  for (BatchSeq seq(0); seq < BatchSeq(20); ++seq) {
    ProduceLarge(*sampler_, seq);
    for (const uint32_t part : {0U, 1U, 2U}) {
      std::optional<ReadSlot> slot = Read(*trainer_);
      ASSERT_TRUE(slot.has_value());
      EXPECT_EQ(slot->batch_part(), (BatchPart{seq, part}));
      EXPECT_TRUE(slot->in_overflow());
      EXPECT_TRUE(HoldsTestTask(slot->block(), seq));
      ASSERT_THAT(std::move(*slot).Release(), IsOk());
    }
  }
}

TEST_F(BatchPartsTest, EachSamplerHasABlockForEachPart) {
  std::vector<const std::byte*> blocks;
  ProduceLarge(*sampler_, BatchSeq(0));
  ProduceLarge(*other_sampler_, BatchSeq(1));
  std::vector<ReadSlot> reading;
  for (int i = 0; i < 6; ++i) {
    std::optional<ReadSlot> slot = Read(*trainer_);
    ASSERT_TRUE(slot.has_value());
    EXPECT_TRUE(HoldsTestTask(slot->block(), slot->seq()));
    blocks.push_back(slot->block().data());
    reading.push_back(*std::move(slot));
  }
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::unique(blocks.begin(), blocks.end()), blocks.end());
  // The last sampler's blocks end with the segment's.
  GlobalQueue beyond(segment_.get(), OwnerIndex{9}, 4);
  std::vector<WriteSlot> slots = Claim(beyond);
  ASSERT_THAT(slots, SizeIs(3));
  EXPECT_THAT(slots[2].SwitchToOverflow(NoWait()), FailedPrecondition());
}

// Trainers take no part of batch 0, since one of its parts is FREE. The sampler
// that waits for the block of the other part is the one that should make it.
TEST_F(BatchPartsTest, AFreePartRetractsTheOtherPartOfItsBatch) {
  for (const uint32_t free : {0U, 1U}) {
    const uint32_t other = 1 - free;
    UseSegment(OptionsOf(2));
    ProduceLarge(*sampler_, BatchSeq(0));
    std::vector<WriteSlot> next = Claim(*sampler_);
    ASSERT_THAT(next, SizeIs(2));
    EXPECT_THAT(next[other].SwitchToOverflow(NoWait()), DeadlineExceeded());
    std::optional<ReadSlot> damaged = Read(*trainer_, free);
    ASSERT_TRUE(damaged.has_value());
    ASSERT_THAT(std::move(*damaged).Reject(), IsOk());
    for (WriteSlot& slot : next) WriteLarge(slot);
    EXPECT_EQ(trainer_->StateOf({BatchSeq(0), other}), SlotState::kFree);
    for (WriteSlot& slot : next) {
      ASSERT_THAT(std::move(slot).Publish(), IsOk());
    }
    ProduceLarge(*sampler_, BatchSeq(0));  // Retracts batch 1 in its turn.
    for (const uint32_t part : {0U, 1U}) {
      ReadAll(*trainer_, {BatchSeq(0), part});
    }
    EXPECT_FALSE(Read(*trainer_).has_value());
  }
}

// Two threads of a sampler. One writes batch 0, for which all trainers wait. It
// waits for the block of part 0, which the other one holds for batch 2. That
// one waits for the block of part 1, in which batch 1 lies, which nobody takes.
TEST_F(BatchPartsTest, ThreadsOfASamplerDoNotWaitForEachOther) {
  UseSegment(OptionsOf(2));
  std::vector<WriteSlot> first = Claim(*sampler_);
  std::vector<WriteSlot> second = Claim(*sampler_);
  ASSERT_THAT(second, SizeIs(2));
  WriteLarge(second[1]);
  Publish(std::move(second[0]), BatchSeq(1));
  ASSERT_THAT(std::move(second[1]).Publish(), IsOk());
  std::vector<WriteSlot> third = Claim(*sampler_);
  ASSERT_THAT(third, SizeIs(2));
  ASSERT_EQ(third[0].seq(), BatchSeq(2));
  WriteLarge(third[0]);
  std::thread other([&first] {
    EXPECT_THAT(first[0].SwitchToOverflow(FarDeadline()), IsOk());
  });
  EXPECT_THAT(third[1].SwitchToOverflow(FarDeadline()), IsOk());
  EXPECT_EQ(trainer_->StateOf({BatchSeq(1), 1}), SlotState::kFree);
  third.clear();
  other.join();
  WriteLarge(first[1]);
}

// The thread that writes batch 0 publishes it soon. A retraction would have
// batch 1 drawn again.
TEST_F(BatchPartsTest, AThreadThatWaitsForNoBlockRetractsNothing) {
  UseSegment(OptionsOf(2));
  std::vector<WriteSlot> first = Claim(*sampler_);
  ASSERT_THAT(first, SizeIs(2));
  WriteLarge(first[1]);  // It holds a block, and waits for none.
  std::vector<WriteSlot> second = Claim(*sampler_);
  ASSERT_THAT(second, SizeIs(2));
  WriteLarge(second[0]);
  Publish(std::move(second[1]), BatchSeq(1));
  ASSERT_THAT(std::move(second[0]).Publish(), IsOk());
  std::vector<WriteSlot> third = Claim(*sampler_);
  ASSERT_THAT(third, SizeIs(2));
  EXPECT_THAT(third[0].SwitchToOverflow(NoWait()), DeadlineExceeded());
  EXPECT_EQ(trainer_->StateOf({BatchSeq(1), 0}), SlotState::kReady);
}

// Another sampler has blocks of its own: a batch that it writes retracts none.
TEST_F(BatchPartsTest, WhatAnotherSamplerWritesRetractsNothing) {
  UseSegment(OptionsOf(2));
  std::vector<WriteSlot> first = Claim(*other_sampler_);
  ProduceLarge(*sampler_, BatchSeq(1));
  std::vector<WriteSlot> third = Claim(*sampler_);
  ASSERT_THAT(third, SizeIs(2));
  EXPECT_THAT(third[0].SwitchToOverflow(NoWait()), DeadlineExceeded());
  EXPECT_EQ(trainer_->StateOf({BatchSeq(1), 0}), SlotState::kReady);
}

}  // namespace
}  // namespace fgnn
