// Messages between the parts of a batch: published once, read by the others,
// and replaced by those of the next step.
#include "shared/queue/message_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "shared/queue/gradient_board.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

constexpr uint64_t kMessageBytes = 1000;

SegmentOptions OptionsOf(uint64_t parts, uint32_t batches_per_step) {
  SegmentOptions options = SmallOptions();
  options.parts = parts;
  options.num_slots = static_cast<uint32_t>(4 * parts);
  options.batches_per_step = batches_per_step;
  options.num_messages = 3;
  options.message_bytes = kMessageBytes;
  return options;
}

class MessageBoardTest : public testing::TestWithParam<uint32_t> {
 protected:
  uint32_t parts() const { return 3; }
  uint32_t batches_per_step() const { return GetParam(); }

  const SegmentOptions options_ = OptionsOf(parts(), batches_per_step());
  std::unique_ptr<Segment> segment_ = MakeSegment(options_);
  MessageBoard board_{segment_.get()};
};

TEST_P(MessageBoardTest, AMessageIsThereOnceItIsPublished) {
  MessageBoard other(segment_.get());
  const BatchSeq last(batches_per_step() - 1);
  for (uint32_t message = 0; message < 3; ++message) {
    for (uint32_t part = 0; part < parts(); ++part) {
      EXPECT_FALSE(other.IsThere(last, message, part));
      board_.Publish(last, message, part);
      EXPECT_TRUE(other.IsThere(last, message, part));
      // Neither a later message, nor that of another batch.
      EXPECT_FALSE(other.IsThere(last, message + 1, part) && message < 2);
      EXPECT_FALSE(other.IsThere(last + 1, message, part));
      if (last > BatchSeq(0)) {
        EXPECT_FALSE(other.IsThere(last - 1, message, part));
      }
    }
  }
}

TEST_P(MessageBoardTest, EachBatchOfAStepHasAPlaceInTheMemory) {
  const std::byte* end = board_.BytesOf(BatchSeq(0)).data();
  for (BatchSeq seq(0); seq < BatchSeq(batches_per_step()); ++seq) {
    const absl::Span<std::byte> place = board_.BytesOf(seq);
    EXPECT_EQ(place.size(), kMessageBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(place.data()) % 64, 0U);
    EXPECT_GE(place.data(), end);
    end = place.data() + place.size();
    // Steps end with the epoch.
    EXPECT_EQ(board_.BytesOf(seq + options_.batches_per_epoch).data(),
              place.data());
  }
  const std::byte* const last =
      segment_->task_blocks().data() + segment_->task_blocks().size();
  EXPECT_GE(board_.BytesOf(BatchSeq(0)).data(), last);
}

// Steps have one batch or two. The epoch of 10 batches has whole steps of both.
TEST_P(MessageBoardTest, ThePlaceServesTheNextStepsBatch) {
  for (BatchSeq seq(0); seq < BatchSeq(30); ++seq) {
    for (uint32_t part = 0; part < parts(); ++part) {
      EXPECT_FALSE(board_.IsThere(seq, 0, part)) << seq.value();
      board_.Publish(seq, 0, part);
      EXPECT_TRUE(board_.IsThere(seq, 0, part)) << seq.value();
      if (seq >= BatchSeq(batches_per_step())) {
        EXPECT_FALSE(board_.IsThere(seq - batches_per_step(), 0, part));
      }
      const JobShape& shape = segment_->shape();
      for (BatchSeq before = shape.BatchesOfStep(shape.StepOf(seq)).begin;
           before < seq; ++before) {
        EXPECT_TRUE(board_.IsThere(before, 0, part)) << seq.value();
      }
    }
  }
}

TEST_P(MessageBoardTest, PublishingWakesWhoWaitsAndIsDoneOnce) {
  GradientBoard board(segment_.get(), OwnerIndex{1});
  uint32_t seen = board.changes();
  board_.Publish(BatchSeq(0), 1, 2);
  EXPECT_NE(board.changes(), seen);
  seen = board.changes();
  board_.Publish(BatchSeq(0), 1, 2);
  EXPECT_EQ(board.changes(), seen);
  EXPECT_TRUE(board_.IsThere(BatchSeq(0), 1, 2));
}

INSTANTIATE_TEST_SUITE_P(Steps, MessageBoardTest, testing::Values(1, 2));

// Only what is touched takes memory: the bounds of messages and of parts in
// overflow blocks are far above what batches have.
TEST(MessageMemoryTest, PagesOfMessagesAndOfOverflowComeAsTheyAreTouched) {
  SegmentOptions options = OptionsOf(2, 2);
  options.message_bytes = uint64_t{8} << 30;
  options.overflow_bytes = uint64_t{8} << 30;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  ASSERT_NE(segment, nullptr);
  SegmentOptions small = options;
  small.message_bytes = 0;
  small.overflow_bytes = options.slot_bytes;
  EXPECT_EQ(SegmentBytes(options), SegmentBytes(small));
  struct stat file = {};
  ASSERT_EQ(::fstat(segment->fd(), &file), 0);
  EXPECT_GT(static_cast<uint64_t>(file.st_size),
            2 * options.message_bytes +
                options.num_overflow_blocks * options.overflow_bytes);
  const auto num_pages = [&segment, &file] {
    EXPECT_EQ(::fstat(segment->fd(), &file), 0);
    return static_cast<uint64_t>(file.st_blocks) * 512 / 4096;
  };
  const uint64_t allocated = num_pages();
  EXPECT_EQ(allocated * 4096, SegmentBytes(options));
  MessageBoard(segment.get()).BytesOf(BatchSeq(1)).back() = std::byte{1};
  EXPECT_EQ(num_pages(), allocated + 1);
  segment->task_blocks().back() = std::byte{1};
  EXPECT_EQ(num_pages(), allocated + 2);
}

// The value that a part's message of a batch has in each of its words.
uint32_t Content(BatchSeq seq, uint32_t message, uint32_t part) {
  return static_cast<uint32_t>(seq.value() * 100 + message * 10 + part);
}

// One trainer of one part, as ThreadSanitizer sees it. For each batch, it
// publishes its messages one after the other, and reads the same message of
// all parts in between. It gives each part back once in the middle and goes on
// as its successor would: messages that are there are not written again.
class PartTrainer {
 public:
  static constexpr uint32_t kParts = 3;
  static constexpr uint32_t kMessages = 3;
  static constexpr uint32_t kWords = 16;

  PartTrainer(Segment* segment, uint32_t part, std::atomic<uint64_t>* done)
      : segment_(segment),
        messages_(segment),
        board_(segment, OwnerIndex{1}),
        part_(part),
        done_(done) {}

  void Run(BatchSeq end, Deadline deadline) {
    const JobShape& shape = segment_->shape();
    for (BatchSeq seq(0); seq < end; ++seq) {
      // As steps are: a batch of the next one begins once all parts of this one
      // are done.
      const BatchSeq first = shape.BatchesOfStep(shape.StepOf(seq)).begin;
      while (done_->load() < first.value() * kParts) {
        ASSERT_LT(MonotonicClock::now(), deadline);
        std::this_thread::yield();
      }
      Train(seq, /*through=*/1, deadline);
      Train(seq, /*through=*/kMessages, deadline);
      if (testing::Test::HasFatalFailure()) return;
      done_->fetch_add(1);
    }
  }

 private:
  absl::Span<uint32_t> WordsOf(BatchSeq seq, uint32_t message, uint32_t part) {
    auto* words = reinterpret_cast<uint32_t*>(messages_.BytesOf(seq).data());
    return {words + (message * kParts + part) * kWords, kWords};
  }

  void Train(BatchSeq seq, uint32_t through, Deadline deadline) {
    for (uint32_t message = 0; message < through; ++message) {
      if (!messages_.IsThere(seq, message, part_)) {
        for (uint32_t& word : WordsOf(seq, message, part_)) {
          word = Content(seq, message, part_);
        }
        messages_.Publish(seq, message, part_);
      }
      for (uint32_t part = 0; part < kParts; ++part) {
        WaitFor(seq, message, part, deadline);
        for (const uint32_t word : WordsOf(seq, message, part)) {
          ASSERT_EQ(word, Content(seq, message, part));
        }
      }
    }
  }

  void WaitFor(BatchSeq seq, uint32_t message, uint32_t part,
               Deadline deadline) {
    for (;;) {
      const uint32_t seen = board_.changes();
      if (messages_.IsThere(seq, message, part)) return;
      ASSERT_LT(MonotonicClock::now(), deadline);
      ASSERT_THAT(board_.WaitForChange(seen, deadline), IsOk());
    }
  }

  Segment* segment_;
  MessageBoard messages_;
  GradientBoard board_;
  uint32_t part_;
  std::atomic<uint64_t>* done_;  // Number of parts that are trained.
};

class MessageThreadsTest : public testing::TestWithParam<uint32_t> {};

TEST_P(MessageThreadsTest, NobodyReadsHalfAMessage) {
  SegmentOptions options = OptionsOf(PartTrainer::kParts, GetParam());
  options.batches_per_epoch = 100;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  std::atomic<uint64_t> done{0};
  std::vector<std::thread> threads;
  for (uint32_t part = 0; part < PartTrainer::kParts; ++part) {
    threads.emplace_back([&, part] {
      PartTrainer(segment.get(), part, &done)
          .Run(segment->shape().num_batches(), FarDeadline());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), 300U * PartTrainer::kParts);
}

INSTANTIATE_TEST_SUITE_P(Steps, MessageThreadsTest, testing::Values(1, 2));

}  // namespace
}  // namespace fgnn
