// A process dies by SIGKILL in each state of a slot and of the lease; the
// reaper gives back what it held, and the job comes out exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fault/child_process.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kTrainer{2};
constexpr OwnerIndex kNextSampler{11};
constexpr OwnerIndex kNextTrainer{12};

// The parameter is the staleness that the job allows.
class QueueDeathTest : public testing::TestWithParam<uint32_t> {
 protected:
  static SegmentOptions Options() {
    SegmentOptions options = SmallOptions();
    options.staleness = GetParam();
    return options;
  }
  void SetUp() override {
    scheduler_.OpenForSampling(BatchSeq(30));
    board_.OpenForTraining(StepNumber(100));
  }
  // Runs `body` in a process until it reports, and kills it there.
  template <typename Body>
  void KillAfter(const Body& body) {
    Reports reports;
    Child child = Child::Start([&] {
      body();
      reports.report()();
      WaitToBeKilled();
    });
    ASSERT_TRUE(reports.Await(1));
    child.Kill();
  }
  void ReclaimAndFinish(uint32_t slots_expected) {
    EXPECT_EQ(scheduler_.ReclaimSlotsOf(kSampler).size() +
                  scheduler_.ReclaimSlotsOf(kTrainer).size(),
              slots_expected);
    board_.ReclaimLeaseOf(kTrainer);
    EXPECT_THAT(scheduler_.ReclaimSlotsOf(kSampler), IsEmpty());
    FinishAlone(segment_.get(), kNextSampler, kNextTrainer,
                /*overflow_block=*/0);
    ExpectExactResult(segment_.get());
  }
  // Publishes tasks until the queue is full; some lie in overflow block 0.
  void FillQueue(uint64_t turns) {
    for (uint64_t i = 0; i < turns; ++i) {
      ASSERT_THAT(SamplerTurn(&sampler_, NoWait()), IsOk());
    }
  }
  // In a child there is nobody to tell: it ends, and its report is missed.
  static void Check(bool condition) {
    if (!condition) ::_exit(1);
  }

  std::unique_ptr<Segment> segment_ = MakeSegment(Options());
  GlobalQueue scheduler_{segment_.get(), kNoOwner};
  GradientBoard board_{segment_.get(), kNoOwner};
  GlobalQueue sampler_{segment_.get(), kSampler, 0};
  GlobalQueue trainer_{segment_.get(), kTrainer};
  GradientBoard trainer_board_{segment_.get(), kTrainer};
};

TEST_P(QueueDeathTest, SamplerWithAClaimedSlot) {
  KillAfter([this] {
    static auto slot = sampler_.TryClaimForWriting();
    Check(slot.ok() && slot->has_value());
    (*slot)->block()[0] = std::byte{1};
  });
  EXPECT_EQ(scheduler_.Counts().writing, 1U);
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, SamplerWithAllSlots) {
  KillAfter([this] {
    static std::vector<WriteSlot> slots;
    for (int i = 0; i < 4; ++i) {
      auto slot = sampler_.TryClaimForWriting();
      Check(slot.ok() && slot->has_value());
      slots.push_back(*std::move(*slot));
    }
  });
  ReclaimAndFinish(4);
}

TEST_P(QueueDeathTest, SamplerInItsOverflowBlock) {
  KillAfter([this] {
    static auto slot = sampler_.TryClaimForWriting();
    Check(slot.ok() && slot->has_value() &&
          (*slot)->SwitchToOverflow(NoWait()).ok());
    (*slot)->block()[0] = std::byte{1};
  });
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, SamplerThatFoundItsOverflowBlockInUse) {
  FillQueue(2);  // Batch 1 lies in overflow block 0.
  KillAfter([this] {
    static auto slot = sampler_.TryClaimForWriting();
    Check(slot.ok() && slot->has_value() &&
          absl::IsDeadlineExceeded((*slot)->SwitchToOverflow(NoWait())));
  });
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, SamplerWhoseTasksAreReady) {
  KillAfter([this] {
    for (int i = 0; i < 4; ++i) Check(SamplerTurn(&sampler_, NoWait()).ok());
  });
  EXPECT_EQ(scheduler_.Counts().ready, 4U);
  ReclaimAndFinish(0);  // Its work is not lost.
}

TEST_P(QueueDeathTest, TrainerWithAClaimedSlot) {
  FillQueue(1);
  KillAfter([this] {
    static auto slot = trainer_.TryClaimForReading(BatchSeq(0), BatchSeq(30));
    Check(slot.ok() && slot->has_value());
  });
  EXPECT_EQ(scheduler_.Counts().reading, 1U);
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, TrainerThatReadsAnOverflowBlock) {
  FillQueue(2);
  KillAfter([this] {
    static auto slot = trainer_.TryClaimForReading(BatchSeq(1), BatchSeq(2));
    Check(slot.ok() && slot->has_value());
  });
  EXPECT_THAT(scheduler_.ReclaimSlotsOf(kTrainer), SizeIs(1));
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto slot, sampler_.TryClaimForReading(BatchSeq(1), BatchSeq(2)));
  ASSERT_TRUE(slot.has_value());
  EXPECT_TRUE(HoldsTestTask(slot->block(), BatchSeq(1)));
  slot.reset();
  ReclaimAndFinish(0);
}

TEST_P(QueueDeathTest, TrainerWithHalfAGradient) {
  FillQueue(1);
  KillAfter([this] {
    static std::optional<StepLease> lease = trainer_board_.TryLease();
    Check(lease.has_value() && MakeExactStep(*std::move(lease)).ok());
    static auto slot = trainer_.TryClaimForReading(BatchSeq(0), BatchSeq(30));
    Check(slot.ok() && slot->has_value());
    trainer_board_.gradient({BatchSeq(0)})[0] = 12345;
  });
  EXPECT_FALSE(board_.IsDone({BatchSeq(0)}));
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, TrainerBetweenItsGradientAndTheRelease) {
  FillQueue(1);
  KillAfter([this] {
    static std::optional<StepLease> lease = trainer_board_.TryLease();
    Check(lease.has_value() && MakeExactStep(*std::move(lease)).ok());
    static auto slot = trainer_.TryClaimForReading(BatchSeq(0), BatchSeq(30));
    Check(slot.ok() && slot->has_value());
    const absl::Span<float> gradient = trainer_board_.gradient({BatchSeq(0)});
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = ExactGradient({BatchSeq(0)}, i);
    }
    Check(trainer_board_.MarkDone({BatchSeq(0)}, {.batch_examples = 1}).ok());
  });
  EXPECT_TRUE(board_.IsDone({BatchSeq(0)}));
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, TrainerWithTheInitialWeights) {
  KillAfter([this] {
    static std::optional<StepLease> lease = trainer_board_.TryLease();
    Check(lease.has_value());
    lease->new_weights()[0] = 99;
  });
  EXPECT_FALSE(board_.version().has_value());
  ReclaimAndFinish(0);
}

TEST_P(QueueDeathTest, TrainerInTheMiddleOfAStep) {
  KillAfter([this] {
    static std::optional<StepLease> lease;
    for (int turns = 0; turns < 50; ++turns) {
      lease = trainer_board_.TryLease();
      if (lease.has_value() && lease->new_version() == 1) {
        lease->new_weights()[0] = 99;
        return;
      }
      if (lease.has_value()) Check(MakeExactStep(*std::move(lease)).ok());
      Check(SamplerTurn(&sampler_, NoWait()).ok());
      Check(TrainerTurn(&trainer_, &trainer_board_, Options()).ok());
      // TrainerTurn() makes the step itself once all three are there.
      if (trainer_board_.IsDone({BatchSeq(0)}) &&
          trainer_board_.IsDone({BatchSeq(1)})) {
        Check(SamplerTurn(&sampler_, NoWait()).ok());
        auto slot = trainer_.TryClaimForReading(BatchSeq(2), BatchSeq(3));
        if (!slot.ok() || !slot->has_value()) continue;
        const absl::Span<float> gradient =
            trainer_board_.gradient({BatchSeq(2)});
        for (size_t i = 0; i < gradient.size(); ++i) {
          gradient[i] = ExactGradient({BatchSeq(2)}, i);
        }
        Check(
            trainer_board_.MarkDone({BatchSeq(2)}, {.batch_examples = 1}).ok());
        Check(std::move(**slot).Release().ok());
      }
    }
    Check(false);
  });
  EXPECT_EQ(board_.version(), 0U);
  ReclaimAndFinish(0);
}

// Weights may be older than the step that waits for its batch.
TEST_P(QueueDeathTest, TrainerWithABatchOfTheLastOpenStep) {
  const uint64_t step = GetParam();
  const BatchSeq seq =
      JobShape(Options()).BatchesOfStep(StepNumber(step)).begin;
  KillAfter([this, seq] {
    static std::optional<ReadSlot> slot;
    for (int turns = 0; turns < 50; ++turns) {
      // First the initial weights.
      Check(TrainerTurn(&trainer_, &trainer_board_, Options()).ok());
      Check(SamplerTurn(&sampler_, NoWait()).ok());
      auto claimed = trainer_.TryClaimForReading(seq, seq + 1);
      Check(claimed.ok());
      if (!claimed->has_value()) continue;
      slot = *std::move(claimed);
      trainer_board_.gradient({seq})[0] = 12345;
      return;
    }
    Check(false);
  });
  EXPECT_EQ(board_.version().value_or(step) < step, step > 0);
  // All steps before it are made without it, and no other.
  GradientBoard next_board(segment_.get(), kNextTrainer);
  GlobalQueue next(segment_.get(), kNextTrainer);
  for (int turns = 0; turns < 50; ++turns) {
    ASSERT_THAT(SamplerTurn(&sampler_, NoWait()), IsOk());
    ASSERT_THAT(TrainerTurn(&next, &next_board, Options()), IsOk());
  }
  EXPECT_EQ(board_.version(), step);
  EXPECT_FALSE(board_.IsDone({seq}));
  ReclaimAndFinish(1);
}

TEST_P(QueueDeathTest, EveryoneInTheMiddleOfAWait) {
  Reports reports;
  Child sampler = Child::Start([&] {
    static auto all = [this] {
      std::vector<WriteSlot> slots;
      while (true) {
        auto slot = sampler_.TryClaimForWriting();
        if (!slot.ok() || !slot->has_value()) return slots;
        slots.push_back(*std::move(*slot));
      }
    }();
    reports.report()();
    (void)sampler_.ClaimForWriting(FarDeadline());
  });
  Child trainer = Child::Start([&] {
    reports.report()();
    (void)trainer_.ClaimForReading(BatchSeq(0), BatchSeq(30), FarDeadline());
  });
  ASSERT_TRUE(reports.Await(2));
  sampler.Kill();
  trainer.Kill();
  ReclaimAndFinish(4);
}

INSTANTIATE_TEST_SUITE_P(Staleness, QueueDeathTest, testing::Values(0, 2));

}  // namespace
}  // namespace fgnn
