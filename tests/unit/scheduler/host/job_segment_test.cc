#include "scheduler/executors/job_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shared/base/hash.h"
#include "shared/hot_table/hot_table.h"
#include "shared/queue/meeting_table.h"
#include "shared/queue/message_board.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

std::unique_ptr<JobSegment> SomeSegment() {
  SegmentOptions options;
  options.job_key = HashString("job");
  options.num_slots = 4;
  options.slot_bytes = 4096;
  options.batches_per_epoch = 4;
  options.epochs = 1;
  options.num_parameters = 1;
  options.num_members = 2;
  return JobSegment::Create("job", options).value();
}

TEST(JobSegmentTest, OwnerIndicesAreUniqueAndGoRound) {
  const auto segment = SomeSegment();
  std::set<OwnerIndex> taken;
  for (int i = 0; i < kMaxOwners; ++i) {
    const OwnerIndex owner = segment->TakeOwner().value();
    EXPECT_NE(owner, kNoOwner);
    EXPECT_TRUE(taken.insert(owner).second);
  }
  EXPECT_THAT(segment->TakeOwner(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  segment->ReleaseOwner(OwnerIndex{9});
  EXPECT_EQ(segment->TakeOwner().value(), OwnerIndex{9});
}

TEST(JobSegmentTest, AnIndexComesBackAsLateAsCanBe) {
  const auto segment = SomeSegment();
  const OwnerIndex first = segment->TakeOwner().value();
  segment->ReclaimDead(first, /*crashed=*/false);
  EXPECT_NE(segment->TakeOwner().value(), first);
}

TEST(JobSegmentTest, SharedMemoryIsOfOneEvaluationAndCannotShrink) {
  const auto segment = SomeSegment();
  EXPECT_EQ(segment->scratch_bytes(), 0U);
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t first, segment->OpenScratch());
  EXPECT_GT(first, 0U);
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd one, segment->Scratch(first));
  ASSERT_EQ(::ftruncate(one.get(), 100'000), 0);
  EXPECT_EQ(segment->scratch_bytes(), 0U);  // Nobody has touched a page.
  ASSERT_EQ(::pwrite(one.get(), "x", 1, 50'000), 1);
  EXPECT_EQ(segment->scratch_bytes(), 4096U);
  EXPECT_NE(::ftruncate(one.get(), 50'000), 0);
  EXPECT_THAT(segment->Scratch(first + 1),
              StatusIs(absl::StatusCode::kNotFound));

  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t second, segment->OpenScratch());
  EXPECT_GT(second, first);
  EXPECT_EQ(segment->scratch_bytes(), 0U);
  EXPECT_THAT(segment->Scratch(first), StatusIs(absl::StatusCode::kNotFound,
                                                testing::HasSubstr("closed")));
  FGNN_ASSERT_OK(segment->Scratch(second).status());
  segment->CloseScratch();
  EXPECT_THAT(segment->Scratch(second), StatusIs(absl::StatusCode::kNotFound));
}

// Pages of messages and of large parts come as they are touched.
TEST(JobSegmentTest, TouchedBytesAreThoseOfThePartsToo) {
  SegmentOptions options = SomeSegment()->options();
  options.parts = 2;
  options.num_overflow_blocks = 2;
  options.overflow_bytes = uint64_t{1} << 20;
  options.num_messages = 2;
  options.message_bytes = uint64_t{1} << 30;
  const auto segment = JobSegment::Create("job", options).value();
  const uint64_t bytes = SegmentBytes(segment->options());
  EXPECT_GE(segment->touched_bytes(), bytes);
  EXPECT_LT(segment->touched_bytes(), bytes + 4096);
  const uint64_t before = segment->touched_bytes();
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto mapped,
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job")));
  MessageBoard(mapped.get()).BytesOf(BatchSeq(0))[100'000] = std::byte{1};
  EXPECT_EQ(segment->touched_bytes(), before + 4096);
}

TEST(JobSegmentTest, MemoryOfAnEvaluationByHostsSaysWhoHasWhat) {
  const auto segment = SomeSegment();
  ChunkDivision division = {.evaluation = 9, .num_hosts = 3, .self = 1};
  division.trainers[2] = 4;
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t number,
                            segment->OpenScratch(division));
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd memory, segment->Scratch(number));
  FGNN_ASSERT_OK_AND_ASSIGN(const ChunkDivision read,
                            ReadChunkDivision(memory.get()));
  EXPECT_EQ(read.evaluation, 9U);
  EXPECT_EQ(read.num_hosts, 3U);
  EXPECT_EQ(read.self, 1U);
  EXPECT_EQ(read.trainers[2], 4U);
  // The next one is of this host alone.
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t next, segment->OpenScratch());
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd other, segment->Scratch(next));
  FGNN_ASSERT_OK_AND_ASSIGN(const ChunkDivision none,
                            ReadChunkDivision(other.get()));
  EXPECT_FALSE(none.is_divided());
}

TEST(JobSegmentTest, WhatTheDeadHeldIsFreeAgain) {
  const auto segment = SomeSegment();
  const OwnerIndex owner = segment->TakeOwner().value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  GlobalQueue queue(attached->get(), owner);
  GradientBoard board(attached->get(), owner);
  segment->queue().OpenForSampling(BatchSeq(4));
  auto slot = queue.TryClaimForWriting();
  ASSERT_TRUE(slot.ok() && slot->has_value());
  auto lease = board.TryLease();
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(segment->queue().Counts().writing, 1U);
  MeetingTable meeting(attached->get(), owner);
  ASSERT_TRUE(meeting.Join().has_value());
  const uint64_t group = meeting.group();

  const JobSegment::Reclaimed reclaimed =
      segment->ReclaimDead(owner, /*crashed=*/false);
  EXPECT_EQ(reclaimed.slots, 1U);
  EXPECT_TRUE(reclaimed.lease);
  EXPECT_EQ(segment->queue().Counts().free, 4U);
  EXPECT_FALSE(meeting.GoesOn(group));
  EXPECT_EQ(meeting.RankOf(owner), std::nullopt);
  // Idempotent: a reaper may die on the way.
  EXPECT_EQ(segment->ReclaimDead(owner, /*crashed=*/false).slots, 0U);
}

// A job whose trainers share a table of 100 rows of 8 bytes.
std::unique_ptr<JobSegment> SharingSegment(uint64_t rank_order_key = 5) {
  SegmentOptions options = SomeSegment()->options();
  options.rank_order_key = rank_order_key;
  options.cache_rows = 100;
  options.standby_cache_rows = 100;
  options.shared_row_bytes = 8;
  return JobSegment::Create("job", options).value();
}

std::unique_ptr<HotTable> TableOf(JobSegment& segment) {
  return HotTable::Open(segment.Scratch(segment.cache_plan().table).value(),
                        HashString("job"), HotTablePart::kAll)
      .value();
}

TEST(JobSegmentTest, TrainersShareATableOfThePlansSize) {
  EXPECT_EQ(SomeSegment()->cache_plan().table, 0U);
  EXPECT_EQ(SharingSegment(/*rank_order_key=*/0)->cache_plan().table, 0U);
  const auto segment = SharingSegment();
  CachePlan plan = segment->cache_plan();
  EXPECT_EQ(plan.table, 1U);
  EXPECT_EQ(TableOf(*segment)->shape().rows, 100U);
  EXPECT_EQ(TableOf(*segment)->shape().rank_order_key, 5U);
  // The same plan keeps it; an evaluation's memory is another one.
  FGNN_ASSERT_OK(segment->SetCachePlan(plan));
  EXPECT_EQ(segment->cache_plan(), plan);
  EXPECT_EQ(segment->OpenScratch().value(), 2U);
  FGNN_ASSERT_OK(segment->Scratch(2).status());

  plan.rows = 60;
  FGNN_ASSERT_OK(segment->SetCachePlan(plan));
  EXPECT_EQ(segment->cache_plan().table, 3U);
  EXPECT_EQ(TableOf(*segment)->shape().rows, 60U);
  EXPECT_THAT(segment->Scratch(1), StatusIs(absl::StatusCode::kNotFound));
  TableOf(*segment)->TryTake(OwnerIndex{1})->bytes()[0] = std::byte{1};
  EXPECT_GT(segment->table_bytes(), 0U);
  plan.rows = 0;
  FGNN_ASSERT_OK(segment->SetCachePlan(plan));
  EXPECT_EQ(segment->cache_plan().table, 0U);
  EXPECT_EQ(segment->table_bytes(), 0U);  // Nor does it keep the pages.
  EXPECT_THAT(segment->Scratch(3), StatusIs(absl::StatusCode::kNotFound));
  plan.rows = 60;
  FGNN_ASSERT_OK(segment->SetCachePlan(plan));
  EXPECT_EQ(segment->cache_plan().table, 4U);
}

TEST(JobSegmentTest, ATableIsHandedOutOnceTheOneBeforeIsUnmapped) {
  const auto segment = SharingSegment();
  auto before = TableOf(*segment);
  before->TryTake(OwnerIndex{1})->bytes()[0] = std::byte{1};
  const uint64_t touched = segment->table_bytes();
  EXPECT_GT(touched, 0U);
  CachePlan plan = segment->cache_plan();
  plan.rows = 200;
  FGNN_ASSERT_OK(segment->SetCachePlan(plan));
  const uint64_t number = segment->cache_plan().table;
  EXPECT_THAT(segment->Scratch(number),
              StatusIs(absl::StatusCode::kUnavailable,
                       testing::HasSubstr("the table before it")));
  EXPECT_GT(segment->table_bytes(), touched);
  before.reset();
  FGNN_ASSERT_OK(segment->Scratch(number).status());
  EXPECT_LE(segment->table_bytes(), touched);
}

TEST(JobSegmentTest, ADeadTrainersChunksAreGivenBack) {
  const auto segment = SharingSegment();
  const OwnerIndex dead = segment->TakeOwner().value();
  const auto table = TableOf(*segment);
  const auto first = table->TryTake(dead);
  const auto second = table->TryTake(dead);
  ASSERT_TRUE(second.has_value());  // 100 rows are two chunks.
  EXPECT_FALSE(table->TryTake(OwnerIndex{9}).has_value());
  EXPECT_EQ(segment->ReclaimDead(dead, /*crashed=*/true).chunks, 2U);
  EXPECT_TRUE(table->TryTake(OwnerIndex{9}).has_value());
}

TEST(JobSegmentTest, ATableGoesOnWithItsSegmentOrANewOneIsMade) {
  const auto before = SharingSegment();
  CachePlan plan = before->cache_plan();
  plan.rows = 150;
  UniqueFd old = before->Scratch(1).value();
  FGNN_ASSERT_OK(before->SetCachePlan(plan));
  plan = before->cache_plan();
  ASSERT_EQ(plan.table, 2U);
  const auto take_over = [&](UniqueFd table) {
    return JobSegment::TakeOver("job", UniqueFd(::dup(before->fd())),
                                std::move(table))
        .value();
  };
  const auto kept = take_over(before->Scratch(2).value());
  EXPECT_EQ(kept->cache_plan(), plan);
  EXPECT_EQ(TableOf(*kept)->shape().rows, 150U);
  EXPECT_EQ(kept->OpenScratch().value(), 3U);
  uint64_t number = 2;
  UniqueFd none;
  for (UniqueFd* const table : {&none, &old}) {
    const auto made = take_over(std::move(*table));
    EXPECT_EQ(made->cache_plan().table, ++number);
    EXPECT_EQ(TableOf(*made)->shape().rows, 150U);
  }
}

TEST(JobSegmentTest, WhoIsNotThereAnyMoreHoldsNothingOfWhatIsTakenOver) {
  const auto before = SomeSegment();
  const OwnerIndex living = before->TakeOwner().value();
  const OwnerIndex dead = before->TakeOwner().value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(before->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  GlobalQueue of_living(attached->get(), living);
  GlobalQueue of_dead(attached->get(), dead);
  GradientBoard board_of_dead(attached->get(), dead);
  before->queue().OpenForSampling(BatchSeq(4));
  auto kept = of_living.TryClaimForWriting();
  ASSERT_TRUE(kept.ok() && kept->has_value());
  auto lost = of_dead.TryClaimForWriting();
  ASSERT_TRUE(lost.ok() && lost->has_value());
  ASSERT_TRUE(board_of_dead.TryLease().has_value());

  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto after,
      JobSegment::TakeOver("job", UniqueFd(::dup(before->fd()))));
  EXPECT_EQ(after->ReclaimAllBut({living}), 1U);
  EXPECT_EQ(after->queue().Counts().writing, 1U);
  EXPECT_EQ(after->queue().Counts().free, 3U);
  for (int i = 1; i < kMaxOwners; ++i) {
    EXPECT_NE(after->TakeOwner().value(), living);
  }
  EXPECT_THAT(JobSegment::TakeOver("other", UniqueFd(::dup(before->fd()))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(JobSegmentTest, ABatchThatCrashesTwoOfItsHoldersIsNamed) {
  const auto segment = SomeSegment();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  segment->queue().OpenForSampling(BatchSeq(4));
  // Takes the next batches, and dies with them in its hands.
  const auto die_with = [&](int batches, bool crashed) {
    const OwnerIndex owner = segment->TakeOwner().value();
    GlobalQueue queue(attached->get(), owner);
    std::vector<WriteSlot> held;
    for (int i = 0; i < batches; ++i) {
      auto slot = queue.TryClaimForWriting();
      EXPECT_TRUE(slot.ok() && slot->has_value());
      held.push_back(std::move(**slot));
    }
    return segment->ReclaimDead(owner, crashed).poison;
  };
  EXPECT_THAT(die_with(2, /*crashed=*/true), testing::IsEmpty());
  // Killed from outside: not the batch's doing, however often.
  EXPECT_THAT(die_with(2, /*crashed=*/false), testing::IsEmpty());
  EXPECT_THAT(die_with(2, /*crashed=*/false), testing::IsEmpty());
  EXPECT_THAT(die_with(1, /*crashed=*/true), testing::ElementsAre(BatchSeq(0)));
  EXPECT_THAT(die_with(3, /*crashed=*/true),
              testing::ElementsAre(BatchSeq(0), BatchSeq(1)));
}

// A holder of all parts of a batch crashes once, and holders of single parts
// crash with the same batch.
TEST(JobSegmentTest, TwoCrashesWithOnePartNameItsBatchOnce) {
  SegmentOptions options = SomeSegment()->options();
  options.parts = 2;
  const auto segment = JobSegment::Create("job", options).value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  segment->queue().OpenForSampling(BatchSeq(4));
  {
    const OwnerIndex owner = segment->TakeOwner().value();
    GlobalQueue queue(attached->get(), owner);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto held, queue.TryClaimBatchForWriting());
    ASSERT_EQ(held.size(), 2U);
    const JobSegment::Reclaimed reclaimed =
        segment->ReclaimDead(owner, /*crashed=*/true);
    EXPECT_EQ(reclaimed.slots, 2U);
    EXPECT_THAT(reclaimed.poison, testing::IsEmpty());
  }
  const OwnerIndex owner = segment->TakeOwner().value();
  GlobalQueue queue(attached->get(), owner);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto held, queue.TryClaimBatchForWriting());
  ASSERT_EQ(held.size(), 2U);
  EXPECT_THAT(segment->ReclaimDead(owner, /*crashed=*/true).poison,
              testing::ElementsAre(BatchSeq(0)));
}

// Their holders train the same batch, as they nearly always do.
TEST(JobSegmentTest, TwoCrashesWithTwoPartsNameNoBatch) {
  SegmentOptions options = SomeSegment()->options();
  options.parts = 2;
  const auto segment = JobSegment::Create("job", options).value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  segment->queue().OpenForSampling(BatchSeq(4));
  const OwnerIndex sampler = segment->TakeOwner().value();
  GlobalQueue samples(attached->get(), sampler);
  FGNN_ASSERT_OK_AND_ASSIGN(auto made, samples.TryClaimBatchForWriting());
  for (WriteSlot& slot : made) FGNN_ASSERT_OK(std::move(slot).Publish());
  for (uint32_t part = 0; part < 2; ++part) {
    const OwnerIndex trainer = segment->TakeOwner().value();
    GlobalQueue queue(attached->get(), trainer);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto held,
                              queue.TryClaimPart({BatchSeq(0), part}));
    ASSERT_TRUE(held.has_value());
    EXPECT_THAT(segment->ReclaimDead(trainer, /*crashed=*/true).poison,
                testing::IsEmpty());
  }
}

TEST(JobSegmentTest, AVersionThatIsHeldStaysTheNewest) {
  const auto segment = SomeSegment();
  EXPECT_EQ(segment->HoldVersion(), std::nullopt);  // No weights yet.
  const OwnerIndex owner = segment->TakeOwner().value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(segment->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  GradientBoard board(attached->get(), owner);
  FGNN_ASSERT_OK(std::move(*board.TryLease()).Publish());
  segment->board().OpenForTraining(StepNumber(4));

  EXPECT_EQ(segment->HoldVersion(), 0U);
  // Trainers may finish the step's batches, but nobody makes the step.
  FGNN_ASSERT_OK(board.MarkDone({BatchSeq(0)}, {.batch_examples = 1}));
  EXPECT_FALSE(board.TryLease().has_value());
  EXPECT_EQ(segment->board().version(), 0U);
  segment->LetVersionGo();
  segment->LetVersionGo();
  auto lease = board.TryLease();
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(segment->HoldVersion(), std::nullopt);  // A step is being made.
  FGNN_ASSERT_OK(std::move(*lease).Publish());
  EXPECT_EQ(segment->HoldVersion(), 1U);
}

TEST(JobSegmentTest, WhatADeadSchedulerHeldIsGivenBack) {
  const auto before = SomeSegment();
  const OwnerIndex living = before->TakeOwner().value();
  const auto attached =
      Segment::Attach(UniqueFd(::dup(before->fd())), HashString("job"));
  FGNN_ASSERT_OK(attached.status());
  GradientBoard board(attached->get(), living);
  FGNN_ASSERT_OK(std::move(*board.TryLease()).Publish());
  before->board().OpenForTraining(StepNumber(4));
  ASSERT_EQ(before->HoldVersion(), 0U);
  FGNN_ASSERT_OK(board.MarkDone({BatchSeq(0)}, {.batch_examples = 1}));

  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto after,
      JobSegment::TakeOver("job", UniqueFd(::dup(before->fd()))));
  ASSERT_FALSE(board.TryLease().has_value());
  after->ReclaimAllBut({living});
  EXPECT_TRUE(board.TryLease().has_value());
}

}  // namespace
}  // namespace fgnn
