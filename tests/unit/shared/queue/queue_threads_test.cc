// Many threads, as ThreadSanitizer sees them; each waits as its process would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "shared/queue/record_words.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

// Turns until the job ends, waiting where there is nothing to do.
void RunTrainer(Segment* segment, OwnerIndex owner, Deadline deadline) {
  GlobalQueue queue(segment, owner);
  GradientBoard board(segment, owner);
  while (MonotonicClock::now() < deadline) {
    const uint32_t seen = board.changes();
    const auto turn = TrainerTurn(&queue, &board, segment->options());
    if (absl::IsCancelled(turn.status())) return;
    ASSERT_THAT(turn, IsOk());
    if (*turn == Turn::kFinished) return;
    if (*turn == Turn::kDone) continue;
    const absl::Status waited = board.WaitForChange(seen, deadline);
    if (absl::IsCancelled(waited)) return;
    ASSERT_THAT(waited, IsOk());
  }
  ADD_FAILURE() << "trainer " << PlainIndex(owner) << " met its deadline";
}

// Claims, writes, publishes; every 7th claim is given back.
void RunSampler(Segment* segment, OwnerIndex owner, uint32_t overflow_block,
                Deadline deadline) {
  GlobalQueue queue(segment, owner, overflow_block);
  for (uint64_t turn = PlainIndex(owner); MonotonicClock::now() < deadline;
       ++turn) {
    auto slots = queue.ClaimBatchForWriting(deadline);
    if (absl::IsCancelled(slots.status())) return;
    ASSERT_THAT(slots, IsOk());
    ASSERT_FALSE(slots->empty());
    if (turn % 7 == 0) continue;
    for (WriteSlot& slot : *slots) {
      ASSERT_THAT(WriteExactTask(slot, deadline), IsOk());
    }
    // Of several parts, the last one is given back now and then.
    if (turn % 7 == 1 && slots->size() > 1) slots->pop_back();
    for (WriteSlot& slot : *slots) {
      ASSERT_THAT(std::move(slot).Publish(), IsOk());
    }
  }
  ADD_FAILURE() << "sampler " << PlainIndex(owner) << " met its deadline";
}

struct Crowd {
  uint32_t num_slots;
  int num_samplers;
  int num_trainers;
  uint32_t batches_per_step;
  uint32_t staleness;
  uint32_t parts = 1;
};

class QueueThreadsTest : public testing::TestWithParam<Crowd> {};

TEST_P(QueueThreadsTest, EveryBatchCountsOnce) {
  const Crowd crowd = GetParam();
  SegmentOptions options = SmallOptions();
  options.num_slots = crowd.num_slots;
  options.batches_per_epoch = 1000;
  options.epochs = 3;
  options.batches_per_step = crowd.batches_per_step;
  options.staleness = crowd.staleness;
  options.parts = crowd.parts;
  options.num_overflow_blocks *= crowd.parts;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  GlobalQueue scheduler(segment.get(), kNoOwner);
  GradientBoard board(segment.get(), kNoOwner);
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  std::vector<std::thread> threads;
  for (int i = 0; i < crowd.num_samplers; ++i) {
    // Two threads of a process share its index and its overflow blocks.
    const auto process = static_cast<uint32_t>(i / 2);
    threads.emplace_back([&segment, &crowd, process, deadline] {
      RunSampler(segment.get(), static_cast<OwnerIndex>(1 + process),
                 process * crowd.parts, deadline);
    });
  }
  for (int i = 0; i < crowd.num_trainers; ++i) {
    threads.emplace_back([&segment, i, deadline] {
      RunTrainer(segment.get(), static_cast<OwnerIndex>(10 + i), deadline);
    });
  }
  scheduler.OpenForSampling(BatchSeq(1500));
  board.OpenForTraining(StepNumber(LastVersion(options) / 2));
  scheduler.OpenForSampling(BatchSeq(3000));
  board.OpenForTraining(StepNumber(LastVersion(options)));
  const auto finished = board.WaitForVersion(LastVersion(options), deadline);
  scheduler.Stop();
  for (std::thread& thread : threads) thread.join();
  ASSERT_THAT(finished, IsOk());
  EXPECT_TRUE(*finished);
  ExpectExactResult(segment.get());
}

INSTANTIATE_TEST_SUITE_P(
    Crowds, QueueThreadsTest,
    testing::Values(Crowd{1, 1, 1, 1, 0}, Crowd{3, 1, 1, 2, 0},
                    Crowd{3, 4, 1, 2, 0}, Crowd{7, 1, 4, 3, 0},
                    Crowd{16, 4, 4, 8, 0}, Crowd{1, 1, 2, 1, 1},
                    Crowd{5, 2, 4, 1, 3}, Crowd{16, 4, 4, 3, 2},
                    Crowd{4, 1, 2, 1, 0, 2}, Crowd{12, 4, 4, 2, 0, 2},
                    Crowd{9, 4, 4, 1, 0, 3}, Crowd{24, 2, 4, 3, 0, 3}));

TEST(QueueWaitTest, AReleaseWakesAWaitingSampler) {
  SegmentOptions options = SmallOptions();
  options.num_slots = 1;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  GlobalQueue sampler(segment.get(), OwnerIndex{1});
  GlobalQueue trainer(segment.get(), OwnerIndex{2});
  sampler.OpenForSampling(BatchSeq(2));
  ProduceNext(&sampler, BatchSeq(0));
  std::thread waiting([&sampler] {
    auto slot = sampler.ClaimForWriting(FarDeadline());
    ASSERT_THAT(slot, IsOk());
    ASSERT_TRUE(slot->has_value());
    EXPECT_EQ((*slot)->seq(), BatchSeq(1));
  });
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto read, trainer.TryClaimForReading(BatchSeq(0), BatchSeq(1)));
  ASSERT_THAT(std::move(*read).Release(), IsOk());
  waiting.join();
}

TEST(QueueWaitTest, APublishedTaskWakesAWaitingTrainer) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  GlobalQueue sampler(segment.get(), OwnerIndex{1});
  GlobalQueue trainer(segment.get(), OwnerIndex{2});
  std::thread waiting([&trainer] {
    auto slot =
        trainer.ClaimForReading(BatchSeq(0), BatchSeq(10), FarDeadline());
    ASSERT_THAT(slot, IsOk());
    ASSERT_TRUE(slot->has_value());
    EXPECT_TRUE(HoldsTestTask((*slot)->block(), BatchSeq(0)));
  });
  sampler.OpenForSampling(BatchSeq(1));
  ProduceNext(&sampler, BatchSeq(0));
  waiting.join();
}

// I7: a peer that is killed between its change and the announcement leaves the
// change alone; those who wait must find it by themselves.
TEST(QueueWaitTest, AnUnannouncedTaskIsFound) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  GlobalQueue sampler(segment.get(), OwnerIndex{1});
  GlobalQueue trainer(segment.get(), OwnerIndex{2});
  GradientBoard board(segment.get(), OwnerIndex{2});
  sampler.OpenForSampling(BatchSeq(1));
  FGNN_ASSERT_OK_AND_ASSIGN(auto slot, sampler.TryClaimForWriting());
  ASSERT_THAT(WriteTestTask(slot->block(), BatchSeq(0), 5), IsOk());
  const uint32_t seen = board.changes();
  std::thread claiming([&trainer] {
    auto ready =
        trainer.ClaimForReading(BatchSeq(0), BatchSeq(10), FarDeadline());
    ASSERT_THAT(ready, IsOk());
    EXPECT_TRUE(ready->has_value());
  });
  const SlotTable slots(*segment);
  constexpr TaskNumber kFirst;
  EXPECT_TRUE(slots.Move(
      kFirst, slots.WordOf(kFirst, SlotState::kWriting, OwnerIndex{1}),
      slots.WordOf(kFirst, SlotState::kReady, kNoOwner)));
  claiming.join();
  // The loop of a trainer comes round as well.
  EXPECT_THAT(board.WaitForChange(board.changes(), FarDeadline()), IsOk());
  EXPECT_NE(seen, board.changes());  // The claim was given back, announced.
}

TEST(QueueWaitTest, StopWakesEveryone) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  std::vector<std::thread> threads;
  threads.emplace_back([&segment] {
    GlobalQueue queue(segment.get(), OwnerIndex{1});
    EXPECT_THAT(queue.ClaimForWriting(FarDeadline()), Cancelled());
  });
  threads.emplace_back([&segment] {
    GlobalQueue queue(segment.get(), OwnerIndex{2});
    EXPECT_THAT(queue.ClaimForReading(BatchSeq(0), BatchSeq(9), FarDeadline()),
                Cancelled());
  });
  threads.emplace_back([&segment] {
    GradientBoard board(segment.get(), OwnerIndex{3});
    EXPECT_THAT(board.WaitForVersion(1, FarDeadline()), Cancelled());
  });
  GlobalQueue(segment.get(), kNoOwner).Stop();
  for (std::thread& thread : threads) thread.join();
}

TEST(QueueWaitTest, WaitsEndAtTheirDeadline) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  GlobalQueue queue(segment.get(), OwnerIndex{1});
  const Deadline deadline = DeadlineIn(std::chrono::milliseconds(5));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto write, queue.ClaimForWriting(deadline));
  EXPECT_FALSE(write.has_value());
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto read,
      queue.ClaimForReading(BatchSeq(0), BatchSeq(9), deadline));
  EXPECT_FALSE(read.has_value());
  EXPECT_GE(MonotonicClock::now(), deadline);
}

// A record that is written again and again while another thread reads it.
TEST(RecordTest, NoReaderSeesHalfARecord) {
  // The first word on a cache line, the others on the next: they arrive apart.
  alignas(64) std::array<uint64_t, 7 + sizeof(BatchRecord) / 8> lines = {};
  uint64_t* const words = &lines[7];
  std::atomic<bool> enough = false;
  std::thread writer([words, &enough] {
    BatchSeq seq;
    do {
      BatchRecord record;
      record.seq_plus_one = seq.value() + 1;
      record.digest = static_cast<uint32_t>(seq.value());
      record.num_edges = seq.value();
      record.trainer = static_cast<OwnerIndex>(seq.value());
      StoreRecord(words, record);
      ++seq;
    } while (!enough);
  });
  const auto expect_whole = [words] {
    const uint64_t seq_plus_one = SharedWord(words[0]).load();
    if (seq_plus_one == 0) return false;
    const BatchSeq seq(seq_plus_one - 1);
    const std::optional<BatchRecord> record = LoadRecord(words, seq);
    if (!record.has_value()) return false;
    EXPECT_EQ(record->digest, static_cast<uint32_t>(seq.value()));
    EXPECT_EQ(record->num_edges, seq.value());
    EXPECT_EQ(record->trainer, static_cast<OwnerIndex>(seq.value()));
    return true;
  };
  for (int look = 0; look < 1'000'000 && !HasFailure(); ++look) expect_whole();
  enough = true;
  writer.join();
  EXPECT_TRUE(expect_whole());
}

}  // namespace
}  // namespace fgnn
