// One process: steps, their places, the lease, records.
#include "shared/queue/gradient_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

constexpr OwnerIndex kTrainer{1};
constexpr OwnerIndex kOther{2};

// 10 batches per epoch in steps of 3, 3, 3 and 1.
class GradientBoardTest : public testing::Test {
 protected:
  explicit GradientBoardTest(uint32_t staleness = 0, uint64_t parts = 1) {
    SegmentOptions options = SmallOptions();
    options.staleness = staleness;
    options.parts = parts;
    segment_ = MakeSegment(options);
    scheduler_ = GradientBoard(segment_.get(), kNoOwner);
    board_ = GradientBoard(segment_.get(), kTrainer);
    other_ = GradientBoard(segment_.get(), kOther);
  }

  void PublishInitialWeights() {
    std::optional<StepLease> lease = board_.TryLease();
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ(lease->new_version(), 0U);
    EXPECT_TRUE(lease->old_weights().empty());
    EXPECT_TRUE(lease->old_optimizer_state().empty());
    EXPECT_TRUE(lease->gradients().empty());
    Fill(lease->new_weights(), 100);
    Fill(lease->new_optimizer_state(), 0);
    ASSERT_THAT(std::move(*lease).Publish(), IsOk());
  }
  static void Fill(absl::Span<float> span, float value) {
    std::fill(span.begin(), span.end(), value);
  }
  void Finish(BatchSeq seq) {
    Fill(board_.gradient({seq}), static_cast<float>(seq.value()));
    BatchRecord record;
    record.batch_examples = static_cast<uint32_t>(seq.value() + 1);
    ASSERT_THAT(board_.MarkDone({seq}, record), IsOk());
  }
  // The new weights are the old ones plus every gradient.
  void MakeStep() {
    std::optional<StepLease> lease = board_.TryLease();
    ASSERT_TRUE(lease.has_value());
    absl::Span<float> weights = lease->new_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = lease->old_weights()[i];
      for (const auto gradient : lease->gradients()) weights[i] += gradient[i];
    }
    ASSERT_THAT(std::move(*lease).Publish(), IsOk());
  }

  std::unique_ptr<Segment> segment_;
  GradientBoard scheduler_{nullptr, kNoOwner};
  GradientBoard board_{nullptr, kTrainer};
  GradientBoard other_{nullptr, kOther};
};

TEST_F(GradientBoardTest, InitialWeightsAreMadeOnce) {
  EXPECT_FALSE(board_.version().has_value());
  EXPECT_FALSE(board_.FindOpenSteps().has_value());
  EXPECT_FALSE(scheduler_.TryLease().has_value());
  {
    const std::optional<StepLease> abandoned = board_.TryLease();
    EXPECT_TRUE(abandoned.has_value());
    EXPECT_FALSE(other_.TryLease().has_value());
    EXPECT_FALSE(board_.version().has_value());
  }
  PublishInitialWeights();
  EXPECT_EQ(board_.version(), 0U);
  EXPECT_EQ(other_.weights(0)[32], 100);
  EXPECT_EQ(other_.weights(0).size(), 33U);
  EXPECT_EQ(other_.optimizer_state(0).size(), 66U);
  scheduler_.OpenForTraining(StepNumber(100));
  EXPECT_FALSE(other_.TryLease().has_value());  // No gradient is there.
}

TEST_F(GradientBoardTest, AWholeJobIsSummedInStepsOfTheirBatches) {
  PublishInitialWeights();
  scheduler_.OpenForTraining(StepNumber(100));
  for (StepNumber step; step < StepNumber(12); ++step) {
    const std::optional<OpenSteps> steps = board_.FindOpenSteps();
    ASSERT_TRUE(steps.has_value());
    EXPECT_EQ(steps->first, step);
    EXPECT_EQ(steps->end, step + 1);
    const BatchRange open = segment_->shape().BatchesOfStep(step);
    EXPECT_EQ(steps->last_batch, open.end);
    EXPECT_EQ(open.size(), step.value() % 4 == 3 ? 1U : 3U);
    // In any order.
    for (uint64_t left = open.size(); left-- > 0;) {
      const BatchSeq seq = open.begin + left;
      EXPECT_FALSE(board_.TryLease().has_value());
      EXPECT_FALSE(board_.IsDone({seq}));
      Finish(seq);
      EXPECT_TRUE(other_.IsDone({seq}));
    }
    MakeStep();
    EXPECT_EQ(other_.version(), step.value() + 1);
    EXPECT_TRUE(other_.IsDone({open.begin}));
    EXPECT_FALSE(other_.IsDone({open.end}));
  }
  EXPECT_FALSE(board_.FindOpenSteps().has_value());
  EXPECT_FALSE(board_.TryLease().has_value());
  EXPECT_EQ(board_.weights(12)[7], 100 + 29 * 30 / 2);
}

TEST_F(GradientBoardTest, TheLeaseShowsGradientsAndSeedsInBatchOrder) {
  PublishInitialWeights();
  scheduler_.OpenForTraining(StepNumber(100));
  Finish(BatchSeq(2));
  Finish(BatchSeq(0));
  Finish(BatchSeq(1));
  std::optional<StepLease> lease = other_.TryLease();
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->new_version(), 1U);
  ASSERT_EQ(lease->gradients().size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lease->gradients()[i].size(), 33U);
    EXPECT_EQ(lease->gradients()[i][32], static_cast<float>(i));
  }
  EXPECT_THAT(lease->batch_examples(), ElementsAre(1, 2, 3));
  EXPECT_EQ(lease->old_weights()[0], 100);
  Fill(lease->new_weights(), 5);
  EXPECT_EQ(board_.weights(0)[0], 100);  // Untouched until the next step.
}

TEST_F(GradientBoardTest, StepsOpenAtTheGateAlone) {
  PublishInitialWeights();
  EXPECT_THAT(board_.MarkDone({BatchSeq(0)}, {}),
              FailedPrecondition("no step"));
  scheduler_.OpenForTraining(StepNumber(1));
  scheduler_.OpenForTraining(StepNumber(0));  // Never lowers.
  EXPECT_EQ(board_.training_limit(), StepNumber(1));
  EXPECT_THAT(board_.MarkDone({BatchSeq(3)}, {}),
              FailedPrecondition("open are 0 to 0"));
  for (const uint64_t seq : {0, 1, 2}) Finish(BatchSeq(seq));
  MakeStep();
  EXPECT_FALSE(board_.FindOpenSteps().has_value());
  EXPECT_THAT(board_.MarkDone({BatchSeq(3)}, {}), FailedPrecondition());
  // Of a committed step: the gradient would overwrite a later batch's.
  EXPECT_TRUE(board_.IsDone({BatchSeq(1)}));
  EXPECT_THAT(board_.MarkDone({BatchSeq(1)}, {}), FailedPrecondition());
}

TEST_F(GradientBoardTest, ABatchIsRecordedOnce) {
  PublishInitialWeights();
  scheduler_.OpenForTraining(StepNumber(100));
  EXPECT_FALSE(board_.record({BatchSeq(1)}).has_value());
  BatchRecord record;
  record.digest = 7;
  record.loss = 0.5F;
  record.sync = 3;
  record.trainer = kTrainer;
  ASSERT_THAT(board_.MarkDone({BatchSeq(1)}, record), IsOk());
  record.digest = 8;
  ASSERT_THAT(other_.MarkDone({BatchSeq(1)}, record), IsOk());  // Done already.
  const std::optional<BatchRecord> stored = scheduler_.record({BatchSeq(1)});
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->seq_plus_one, 2U);
  EXPECT_EQ(stored->digest, 7U);
  EXPECT_EQ(stored->loss, 0.5F);
  EXPECT_EQ(stored->sync, 3);
  EXPECT_EQ(stored->trainer, kTrainer);
}

TEST_F(GradientBoardTest, RecordsStayUntilTheNextEpochsBatch) {
  PublishInitialWeights();
  scheduler_.OpenForTraining(StepNumber(100));
  for (BatchSeq seq(0); seq < BatchSeq(10); ++seq) {
    Finish(seq);
    if (board_.FindOpenSteps()->last_batch == seq + 1) MakeStep();
  }
  Finish(BatchSeq(10));
  EXPECT_FALSE(board_.record({BatchSeq(0)}).has_value());
  EXPECT_EQ(board_.record({BatchSeq(10)})->batch_examples, 11U);
  EXPECT_EQ(board_.record({BatchSeq(9)})->batch_examples, 10U);
  EXPECT_FALSE(board_.record({BatchSeq(19)}).has_value());
}

TEST_F(GradientBoardTest, ADeadLeaseholderLeavesEverythingAsItWas) {
  std::optional<StepLease> first = board_.TryLease();
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(scheduler_.ReclaimLeaseOf(kOther));
  EXPECT_FALSE(scheduler_.ReclaimLeaseOf(kNoOwner));
  EXPECT_TRUE(scheduler_.ReclaimLeaseOf(kTrainer));
  EXPECT_FALSE(scheduler_.ReclaimLeaseOf(kTrainer));
  EXPECT_FALSE(board_.version().has_value());
  EXPECT_THAT(std::move(*first).Publish(), FailedPrecondition());
  PublishInitialWeights();

  scheduler_.OpenForTraining(StepNumber(100));
  for (const uint64_t seq : {0, 1, 2}) Finish(BatchSeq(seq));
  std::optional<StepLease> second = other_.TryLease();
  ASSERT_TRUE(second.has_value());
  Fill(second->new_weights(), -1);  // Half a step.
  EXPECT_EQ(board_.version(), 0U);
  EXPECT_TRUE(scheduler_.ReclaimLeaseOf(kOther));
  EXPECT_EQ(board_.version(), 0U);
  MakeStep();
  EXPECT_EQ(board_.weights(1)[0], 103);
  EXPECT_THAT(std::move(*second).Publish(), FailedPrecondition("version 1"));
  EXPECT_EQ(board_.version(), 1U);
}

TEST_F(GradientBoardTest, AnAbandonedLeaseIsTakenAgain) {
  PublishInitialWeights();
  scheduler_.OpenForTraining(StepNumber(100));
  for (const uint64_t seq : {0, 1, 2}) Finish(BatchSeq(seq));
  {
    std::optional<StepLease> abandoned = other_.TryLease();
    EXPECT_TRUE(abandoned.has_value());
    const StepLease moved = *std::move(abandoned);
    EXPECT_THAT(std::move(*abandoned).Publish(), FailedPrecondition());
    EXPECT_FALSE(board_.TryLease().has_value());
  }
  MakeStep();
}

// The same job with weights that may be two versions old.
class StaleBoardTest : public GradientBoardTest {
 protected:
  StaleBoardTest() : GradientBoardTest(/*staleness=*/2) {
    PublishInitialWeights();
  }
  // The first and the last step that are open.
  std::pair<uint64_t, uint64_t> Open() {
    const std::optional<OpenSteps> open = board_.FindOpenSteps();
    return open.has_value()
               ? std::pair(open->first.value(), (open->end - 1).value())
               : std::pair(~uint64_t{0}, ~uint64_t{0});
  }
};

TEST_F(StaleBoardTest, AsManyStepsAreOpenAsWeightsMayBeOld) {
  scheduler_.OpenForTraining(StepNumber(2));
  EXPECT_EQ(Open(), std::pair(uint64_t{0}, uint64_t{1}));
  scheduler_.OpenForTraining(StepNumber(100));
  EXPECT_EQ(Open(), std::pair(uint64_t{0}, uint64_t{2}));
  EXPECT_EQ(board_.FindOpenSteps()->last_batch, BatchSeq(9));
  EXPECT_THAT(board_.MarkDone({BatchSeq(9)}, {}),
              FailedPrecondition("batch 9 belongs to step 3, but those open "
                                 "are 0 to 2"));
  for (const uint64_t seq : {0, 1, 2}) Finish(BatchSeq(seq));
  MakeStep();
  // Four steps an epoch: none of the next one before the last of this.
  EXPECT_EQ(Open(), std::pair(uint64_t{1}, uint64_t{3}));
  for (const uint64_t seq : {3, 4, 5}) Finish(BatchSeq(seq));
  MakeStep();
  EXPECT_EQ(Open(), std::pair(uint64_t{2}, uint64_t{3}));
}

TEST_F(StaleBoardTest, StepsAreMadeInOrderWhateverIsDoneFirst) {
  scheduler_.OpenForTraining(StepNumber(100));
  for (uint64_t seq = 8; seq > 0; --seq) {
    Finish(BatchSeq(seq));
    EXPECT_FALSE(board_.TryLease().has_value());
  }
  Finish(BatchSeq(0));
  for (uint64_t step = 0; step < 3; ++step) {
    std::optional<StepLease> lease = other_.TryLease();
    ASSERT_TRUE(lease.has_value());
    ASSERT_EQ(lease->gradients().size(), 3U);
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(lease->gradients()[i][0], static_cast<float>(step * 3 + i));
      EXPECT_EQ(lease->batch_examples()[i], step * 3 + i + 1);
    }
    lease.reset();
    MakeStep();
    EXPECT_EQ(board_.weights(step + 1)[0],
              board_.weights(step)[0] + static_cast<float>(9 * step + 3));
  }
  EXPECT_FALSE(board_.TryLease().has_value());
}

TEST_F(StaleBoardTest, WeightsStayAsLongAsABatchMayNeedThem) {
  scheduler_.OpenForTraining(StepNumber(100));
  // Batch 6, of step 2, is trained with version 0 all the while.
  for (const uint64_t seq : {0, 1, 2, 3, 4, 5, 7, 8}) {
    Finish(BatchSeq(seq));
    if (seq == 2 || seq == 5) MakeStep();
  }
  EXPECT_EQ(board_.version(), 2U);
  EXPECT_FALSE(board_.TryLease().has_value());
  EXPECT_EQ(board_.weights(0)[32], 100);
  EXPECT_EQ(board_.weights(1)[32], 103);
  EXPECT_EQ(board_.weights(2)[32], 115);
  BatchRecord record;
  record.num_seeds = 7;
  record.staleness = 3;
  EXPECT_THAT(board_.MarkDone({BatchSeq(6)}, record),
              FailedPrecondition("3 versions old, 2 are allowed"));
  EXPECT_FALSE(board_.IsDone({BatchSeq(6)}));
  record.staleness = 2;
  Fill(board_.gradient({BatchSeq(6)}), 6);
  ASSERT_THAT(board_.MarkDone({BatchSeq(6)}, record), IsOk());
  EXPECT_EQ(scheduler_.record({BatchSeq(6)})->staleness, 2U);
  MakeStep();
  EXPECT_EQ(board_.weights(3)[32], 136);
}

TEST_F(GradientBoardTest, EveryChangeIsAnnounced) {
  GlobalQueue queue(segment_.get(), kNoOwner);
  GlobalQueue sampler(segment_.get(), OwnerIndex{3});
  GlobalQueue trainer(segment_.get(), kTrainer);
  uint32_t seen = board_.changes();
  const auto changed = [&] {
    // A wait for what was announced already would be a lost wake-up.
    EXPECT_THAT(board_.WaitForChange(seen, FarDeadline()), IsOk());
    return std::exchange(seen, board_.changes()) != board_.changes();
  };
  PublishInitialWeights();
  EXPECT_TRUE(changed()) << "initial weights";
  scheduler_.OpenForTraining(StepNumber(1));
  EXPECT_TRUE(changed()) << "training opened";
  queue.OpenForSampling(BatchSeq(30));
  EXPECT_TRUE(changed()) << "sampling opened";
  ProduceNext(&sampler, BatchSeq(0));
  EXPECT_TRUE(changed()) << "task ready";
  { auto abandoned = trainer.TryClaimForReading(BatchSeq(0), BatchSeq(1)); }
  EXPECT_TRUE(changed()) << "task ready again";
  for (const uint64_t seq : {0, 1, 2}) {
    Finish(BatchSeq(seq));
    EXPECT_TRUE(changed()) << "batch done";
  }
  { auto abandoned = board_.TryLease(); }
  EXPECT_TRUE(changed()) << "lease free again";
  MakeStep();
  EXPECT_TRUE(changed()) << "version published";
  queue.ReclaimSlotsOf(OwnerIndex{9});
  EXPECT_TRUE(changed()) << "slots reclaimed";
  scheduler_.ReclaimLeaseOf(OwnerIndex{9});
  EXPECT_TRUE(changed()) << "lease reclaimed";
  queue.Stop();
  EXPECT_TRUE(board_.changes() != seen) << "stopped";
  EXPECT_THAT(board_.WaitForChange(board_.changes(), FarDeadline()),
              Cancelled());
}

TEST_F(GradientBoardTest, WaitingForAVersionEndsInOneOfThreeWays) {
  EXPECT_THAT(board_.WaitForVersion(0, NoWait()), IsOk());
  EXPECT_FALSE(*board_.WaitForVersion(0, NoWait()));
  PublishInitialWeights();
  EXPECT_TRUE(*board_.WaitForVersion(0, FarDeadline()));
  EXPECT_FALSE(*board_.WaitForVersion(1, NoWait()));
  GlobalQueue(segment_.get(), kNoOwner).Stop();
  EXPECT_TRUE(*board_.WaitForVersion(0, FarDeadline()));
  EXPECT_THAT(board_.WaitForVersion(1, FarDeadline()), Cancelled());
}

class GradientBoardOfPartsTest : public GradientBoardTest {
 protected:
  GradientBoardOfPartsTest() : GradientBoardTest(/*staleness=*/0, /*parts=*/2) {
    PublishInitialWeights();
    scheduler_.OpenForTraining(StepNumber(100));
  }
};

TEST_F(GradientBoardOfPartsTest, AStepNeedsAllPartsOfItsBatches) {
  const std::vector<BatchPart> tasks = board_.TasksOf(StepNumber(0));
  ASSERT_EQ(tasks.size(), 6U);
  for (size_t left = tasks.size(); left-- > 0;) {
    const BatchPart& task = tasks[left];
    EXPECT_FALSE(board_.IsDone(task));
    EXPECT_FALSE(board_.record(task).has_value());
    EXPECT_FALSE(board_.TryLease().has_value());
    const auto value = static_cast<float>(10 * task.seq.value() + task.part);
    Fill(board_.gradient(task), value);
    BatchRecord record;
    record.num_seeds = task.part == task.seq.value() % 2 ? 4 : 0;
    record.batch_examples = static_cast<uint32_t>(4 + task.seq.value());
    ASSERT_THAT(board_.MarkDone(task, record), IsOk());
  }
  const std::optional<StepLease> lease = other_.TryLease();
  ASSERT_TRUE(lease.has_value());
  std::vector<float> gradients;
  for (const auto gradient : lease->gradients()) {
    gradients.push_back(gradient[32]);
  }
  EXPECT_THAT(gradients, ElementsAre(0, 1, 10, 11, 20, 21));
  // A part without seeds counts as much as its batch's other part.
  EXPECT_THAT(lease->batch_examples(), ElementsAre(4, 4, 5, 5, 6, 6));
  EXPECT_EQ(lease->num_parts(), 2U);
  EXPECT_EQ(scheduler_.record({BatchSeq(1), 1})->num_seeds, 4U);
}

}  // namespace
}  // namespace fgnn
