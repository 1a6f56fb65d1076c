// A process that is killed leaves the segment as it is between two of its
// instructions. So each scenario runs once, instruction by instruction. From
// every state of the memory on the way, the reaper and two new processes must
// bring the job to its exact end (I1, I2, I6, I8, I10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <cstring>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "tests/fault/child_process.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

using testing::IsEmpty;

constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kTrainer{2};
constexpr OwnerIndex kNextSampler{11};
constexpr OwnerIndex kNextTrainer{12};
constexpr int kCannotTrace = 77;

using Memory = std::vector<std::byte>;

SegmentOptions TinyOptions(uint32_t staleness) {
  SegmentOptions options = SmallOptions();
  options.num_slots = 3;
  options.num_overflow_blocks = 1;
  options.overflow_bytes = 5120;
  options.batches_per_epoch = 5;
  options.epochs = 2;
  options.batches_per_step = 2;
  options.staleness = staleness;
  options.num_parameters = 3;
  options.optimizer_floats_per_parameter = 1;
  return options;
}

absl::Span<std::byte> MemoryOf(const Segment& segment) {
  const uint64_t control = SegmentLayout::Of(segment.options()).control;
  return {reinterpret_cast<std::byte*>(&segment.regions().control()) - control,
          static_cast<size_t>(segment.total_bytes())};
}

// The parameter is the staleness that the job allows.
class QueueCrashPointsTest : public testing::TestWithParam<uint32_t> {
 protected:
  static SegmentOptions Options() { return TinyOptions(GetParam()); }
  void SetUp() override {
    scheduler_.OpenForSampling(BatchSeq(10));
    board_.OpenForTraining(StepNumber(100));
  }

  // The different states of the memory while `body` runs in a process.
  std::vector<Memory> StatesDuring(const std::function<void()>& body) {
    Child child = Child::Start([&body] {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        ::_exit(kCannotTrace);
      }
      ::raise(SIGSTOP);
      body();
    });
    const absl::Span<std::byte> memory = MemoryOf(*segment_);
    std::vector<Memory> states;
    int status = 0;
    while (::waitpid(child.pid(), &status, 0) == child.pid() &&
           WIFSTOPPED(status)) {
      if (states.empty() || std::memcmp(states.back().data(), memory.data(),
                                        memory.size()) != 0) {
        states.emplace_back(memory.begin(), memory.end());
      }
      if (::ptrace(PTRACE_SINGLESTEP, child.pid(), nullptr, nullptr) != 0) {
        break;
      }
    }
    can_trace_ = !WIFEXITED(status) || WEXITSTATUS(status) != kCannotTrace;
    EXPECT_TRUE(!can_trace_ || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        << "status " << status;
    return states;
  }

  // From each state: reap the dead, finish the job, look at the result.
  void ExpectRecoveryDuring(const std::function<void()>& body) {
    const std::vector<Memory> states = StatesDuring(body);
    if (!can_trace_) GTEST_SKIP() << "this machine does not allow ptrace";
    ASSERT_GT(states.size(), 2U);
    const std::unique_ptr<Segment> replay = MakeSegment(Options());
    std::vector<uint64_t> generations(Options().num_slots, 0);
    for (size_t i = 0; i < states.size(); ++i) {
      SCOPED_TRACE(absl::StrCat("state ", i, " of ", states.size()));
      std::memcpy(MemoryOf(*replay).data(), states[i].data(), states[i].size());
      ExpectSoundWords(*replay, &generations);
      GlobalQueue scheduler(replay.get(), kNoOwner);
      GradientBoard board(replay.get(), kNoOwner);
      for (const OwnerIndex dead : {kSampler, kTrainer}) {
        scheduler.ReclaimSlotsOf(dead);
        board.ReclaimLeaseOf(dead);
        EXPECT_THAT(scheduler.ReclaimSlotsOf(dead), IsEmpty());
      }
      FinishAlone(replay.get(), kNextSampler, kNextTrainer,
                  /*overflow_block=*/0);
      ExpectExactResult(replay.get());
      if (HasFailure()) return;
    }
    RecordProperty("states", static_cast<int>(states.size()));
  }

  // I1 and I8.
  static void ExpectSoundWords(const Segment& segment,
                               std::vector<uint64_t>* generations) {
    const SlotTable slots(segment);
    for (size_t slot = 0; slot < generations->size(); ++slot) {
      const SlotWord word = slots.Load(slot);
      EXPECT_LE(word.state, SlotState::kReading);
      EXPECT_GE(word.generation, (*generations)[slot]);
      (*generations)[slot] = word.generation;
    }
  }

  void Sample(int turns) {
    for (int i = 0; i < turns; ++i) {
      if (!SamplerTurn(&sampler_, NoWait()).ok()) ::abort();
    }
  }
  void Train(int turns) {
    for (int i = 0; i < turns; ++i) {
      if (!TrainerTurn(&trainer_, &trainer_board_, Options()).ok()) {
        ::abort();
      }
    }
  }

  bool can_trace_ = true;
  std::unique_ptr<Segment> segment_ = MakeSegment(Options());
  GlobalQueue scheduler_{segment_.get(), kNoOwner};
  GradientBoard board_{segment_.get(), kNoOwner};
  GlobalQueue sampler_{segment_.get(), kSampler, 0};
  GlobalQueue trainer_{segment_.get(), kTrainer};
  GradientBoard trainer_board_{segment_.get(), kTrainer};
};

TEST_P(QueueCrashPointsTest, ASamplerPublishes) {
  ExpectRecoveryDuring([this] { Sample(3); });  // The second one overflows.
}

TEST_P(QueueCrashPointsTest, ASamplerGivesBack) {
  ExpectRecoveryDuring([this] {
    { auto slot = sampler_.TryClaimForWriting(); }
    auto slot = sampler_.TryClaimForWriting();
    if (!(*slot)->SwitchToOverflow(NoWait()).ok()) ::abort();
  });
}

TEST_P(QueueCrashPointsTest, ASamplerRetracts) {
  auto first = sampler_.TryClaimForWriting();
  ASSERT_TRUE(first.ok() && first->has_value());
  Sample(1);  // Batch 1, in the overflow block.
  ExpectRecoveryDuring([&first] {
    WriteSlot& slot = **first;
    if (!slot.SwitchToOverflow(NoWait()).ok() ||
        !WriteTestTask(slot.block(), BatchSeq(0), 20).ok() ||
        !std::move(slot).Publish().ok()) {
      ::abort();
    }
  });
}

TEST_P(QueueCrashPointsTest, ATrainerTrains) {
  Sample(3);
  // The initial weights, two batches, a step, half of the next.
  ExpectRecoveryDuring([this] { Train(5); });
}

TEST_P(QueueCrashPointsTest, ATrainerGivesBackAndRejects) {
  Sample(3);
  ExpectRecoveryDuring([this] {
    { const auto lease = trainer_board_.TryLease(); }
    { auto slot = trainer_.TryClaimForReading(BatchSeq(0), BatchSeq(10)); }
    for (int i = 0; i < 3; ++i) {
      auto slot = trainer_.TryClaimForReading(BatchSeq(0), BatchSeq(10));
      if (!std::move(**slot).Reject().ok()) ::abort();
    }
  });
}

// I10: the reaper dies while it reaps.
TEST_P(QueueCrashPointsTest, AReaperReaps) {
  Train(1);
  Sample(3);
  Train(2);
  Sample(2);
  auto reading = trainer_.TryClaimForReading(BatchSeq(2), BatchSeq(10));
  ASSERT_TRUE(reading.ok() && reading->has_value());
  auto overflowing = trainer_.TryClaimForReading(BatchSeq(4), BatchSeq(10));
  ASSERT_TRUE(overflowing.ok() && overflowing->has_value());
  auto writing = sampler_.TryClaimForWriting();
  const auto lease = trainer_board_.TryLease();
  ASSERT_TRUE(lease.has_value());
  ExpectRecoveryDuring([this] {
    scheduler_.ReclaimSlotsOf(kSampler);
    scheduler_.ReclaimSlotsOf(kTrainer);
    board_.ReclaimLeaseOf(kTrainer);
  });
}

TEST_P(QueueCrashPointsTest, AReaperReapsAnOverflowingSampler) {
  auto writing = sampler_.TryClaimForWriting();
  ASSERT_TRUE(writing.ok() && writing->has_value());
  ASSERT_THAT((*writing)->SwitchToOverflow(NoWait()), IsOk());
  ExpectRecoveryDuring([this] { scheduler_.ReclaimSlotsOf(kSampler); });
}

INSTANTIATE_TEST_SUITE_P(Staleness, QueueCrashPointsTest,
                         testing::Values(0, 1));

}  // namespace
}  // namespace fgnn
