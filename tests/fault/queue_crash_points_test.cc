// A process that is killed leaves the segment as it is between two of its
// instructions. So each scenario runs once, instruction by instruction. From
// every state of the memory on the way, the reaper and two new processes must
// bring the job to its exact end (I1, I2, I6, I8, I10). A message between parts
// that is published is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/queue/message_board.h"
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
constexpr uint32_t kMessages = 2;
constexpr size_t kMessageBytes = 24;

using Memory = std::vector<std::byte>;

struct Law {
  uint32_t staleness;  // The staleness that the job allows.
  uint32_t parts;
};

SegmentOptions TinyOptions(const Law& law) {
  SegmentOptions options = SmallOptions();
  options.parts = law.parts;
  options.num_slots = 3 * law.parts;
  options.num_overflow_blocks = law.parts;
  options.overflow_bytes = 5120;
  options.batches_per_epoch = 5;
  options.epochs = 2;
  options.batches_per_step = 2;
  options.staleness = law.staleness;
  options.num_parameters = 3;
  options.optimizer_floats_per_parameter = 1;
  if (law.parts > 1 && law.staleness == 0) {
    options.num_messages = kMessages;
    options.message_bytes = kMessages * law.parts * kMessageBytes;
  }
  return options;
}

absl::Span<std::byte> MemoryOf(const Segment& segment) {
  const uint64_t control = SegmentLayout::Of(segment.options()).control;
  return {
      reinterpret_cast<std::byte*>(&segment.regions().control()) - control,
      static_cast<size_t>(SegmentLayout::Of(segment.options()).total_bytes)};
}

// Returns where the message of the part lies.
absl::Span<std::byte> MessageOf(const MessageBoard& board,
                                const BatchPart& task, uint32_t message,
                                uint32_t parts) {
  return board.BytesOf(task.seq).subspan(
      (message * parts + task.part) * kMessageBytes, kMessageBytes);
}

// Returns what each byte of the message is, which is not 0.
std::byte ContentOfMessage(const BatchPart& task, uint32_t message) {
  return static_cast<std::byte>(1 + task.seq.value() * 16 + task.part * 4 +
                                message);
}

class QueueCrashPointsTest : public testing::TestWithParam<Law> {
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
      ExpectWholeMessages(replay.get());
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

  // Of the first step, in which all messages of these tests are.
  static void ExpectWholeMessages(Segment* segment) {
    const SegmentOptions& options = segment->options();
    if (options.num_messages == 0) return;
    const MessageBoard board(segment);
    const JobShape& shape = segment->shape();
    for (const BatchPart& task :
         PartsOf(shape.BatchesOfStep(StepNumber(0)), options.parts)) {
      for (uint32_t message = 0; message < kMessages; ++message) {
        if (!board.IsThere(task.seq, message, task.part)) continue;
        const absl::Span<const std::byte> bytes =
            MessageOf(board, task, message, GetParam().parts);
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(),
                             ContentOfMessage(task, message)),
                  static_cast<int64_t>(bytes.size()))
            << "message " << message << " of part " << task.part;
      }
    }
  }

  // As a trainer does it: what is there is not written again.
  void SendMessage(const BatchPart& task, uint32_t message) {
    MessageBoard board(segment_.get());
    if (board.IsThere(task.seq, message, task.part)) return;
    const absl::Span<std::byte> bytes =
        MessageOf(board, task, message, GetParam().parts);
    std::fill(bytes.begin(), bytes.end(), ContentOfMessage(task, message));
    board.Publish(task.seq, message, task.part);
  }

  // Claims the free parts of the lowest batch.
  std::vector<WriteSlot> ClaimBatch() {
    auto slots = sampler_.TryClaimBatchForWriting();
    if (!slots.ok() || slots->empty()) ::abort();
    return *std::move(slots);
  }
  void ClaimIntoOverflow() {
    for (std::vector<WriteSlot> slots = ClaimBatch();
         WriteSlot & slot : slots) {
      if (!slot.SwitchToOverflow(NoWait()).ok()) ::abort();
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
  // The second batch overflows. With parts, ASamplerRetracts has that.
  const int turns = GetParam().parts == 1 ? 3 : 1;
  ExpectRecoveryDuring([this, turns] { Sample(turns); });
}

TEST_P(QueueCrashPointsTest, ASamplerGivesBack) {
  ExpectRecoveryDuring([this] {
    ClaimBatch();
    ClaimIntoOverflow();
  });
}

TEST_P(QueueCrashPointsTest, ASamplerRetracts) {
  std::vector<WriteSlot> first = ClaimBatch();
  Sample(1);  // Batch 1, in the overflow blocks.
  ExpectRecoveryDuring([&first] {
    for (WriteSlot& slot : first) {
      if (!slot.SwitchToOverflow(NoWait()).ok() ||
          !WriteTestTask(slot.block(), ContentOf(slot.batch_part()), 20).ok()) {
        ::abort();
      }
    }
    for (WriteSlot& slot : first) {
      if (!std::move(slot).Publish().ok()) ::abort();
    }
  });
}

TEST_P(QueueCrashPointsTest, ATrainerTrains) {
  Sample(3);
  // The initial weights, two batches, a step, half of the next. With parts, all
  // before the last part of the first step is done already, which saves time.
  const auto tasks = 2 * static_cast<int>(GetParam().parts);
  const int before = GetParam().parts == 1 ? 0 : tasks;
  Train(before);
  ExpectRecoveryDuring([this, tasks, before] { Train(3 + tasks - before); });
}

class MessageCrashPointsTest : public QueueCrashPointsTest {};

// Rules d and f of the queue's README.
TEST_P(MessageCrashPointsTest, ATrainerSendsMessagesAndTakesTheMissingPart) {
  Train(1);
  Sample(1);
  ExpectRecoveryDuring([this] {
    for (uint32_t message = 0; message < kMessages; ++message) {
      for (uint32_t part = 0; part < GetParam().parts; ++part) {
        const BatchPart task{BatchSeq(0), part};
        const auto slot = trainer_.TryClaimPart(task);
        if (!slot.ok() || !slot->has_value()) ::abort();
        for (uint32_t sent = 0; sent <= message; ++sent) {
          SendMessage(task, sent);
        }
      }  // Gives the part back.
    }
    Train(static_cast<int>(GetParam().parts));
  });
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
  Train(2 * static_cast<int>(GetParam().parts));
  Sample(2);
  auto reading = trainer_.TryClaimForReading(BatchSeq(2), BatchSeq(10));
  ASSERT_TRUE(reading.ok() && reading->has_value());
  auto overflowing = trainer_.TryClaimForReading(BatchSeq(4), BatchSeq(10));
  ASSERT_TRUE(overflowing.ok() && overflowing->has_value());
  const auto writing = sampler_.TryClaimBatchForWriting();
  const auto lease = trainer_board_.TryLease();
  ASSERT_TRUE(lease.has_value());
  ExpectRecoveryDuring([this] {
    scheduler_.ReclaimSlotsOf(kSampler);
    scheduler_.ReclaimSlotsOf(kTrainer);
    board_.ReclaimLeaseOf(kTrainer);
  });
}

TEST_P(QueueCrashPointsTest, AReaperReapsAnOverflowingSampler) {
  std::vector<WriteSlot> writing = ClaimBatch();
  for (WriteSlot& slot : writing) {
    ASSERT_THAT(slot.SwitchToOverflow(NoWait()), IsOk());
  }
  ExpectRecoveryDuring([this] { scheduler_.ReclaimSlotsOf(kSampler); });
}

INSTANTIATE_TEST_SUITE_P(Laws, QueueCrashPointsTest,
                         testing::Values(Law{0, 1}, Law{1, 1}, Law{0, 2},
                                         Law{0, 3}));
INSTANTIATE_TEST_SUITE_P(Laws, MessageCrashPointsTest,
                         testing::Values(Law{0, 2}, Law{0, 3}));

}  // namespace
}  // namespace fgnn
