// Small segments, and tasks whose content depends only on their seq.
#ifndef FGNN_TESTS_UNIT_SHARED_QUEUE_SEGMENT_FOR_TESTS_H_
#define FGNN_TESTS_UNIT_SHARED_QUEUE_SEGMENT_FOR_TESTS_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {

inline constexpr uint64_t kTestJob = 0x1234;

// A deadline that is far enough for any machine. A test that reaches it has
// failed.
inline Deadline FarDeadline() { return DeadlineIn(std::chrono::seconds(60)); }
inline Deadline NoWait() { return MonotonicClock::now(); }

inline SegmentOptions SmallOptions() {
  SegmentOptions options;
  options.job_key = kTestJob;
  options.num_slots = 4;
  options.slot_bytes = 2048;
  options.num_overflow_blocks = 2;
  options.overflow_bytes = 8192;
  options.batches_per_epoch = 10;
  options.epochs = 3;
  options.batches_per_step = 3;
  options.num_parameters = 33;
  return options;
}

// Creates a segment or fails the test.
inline std::unique_ptr<Segment> MakeSegment(const SegmentOptions& options) {
  absl::StatusOr<std::unique_ptr<Segment>> segment = Segment::Create(options);
  EXPECT_THAT(segment, IsOk());
  return segment.ok() ? std::move(*segment) : nullptr;
}

// Writes a task of one seed and `num_edges` edges. All its numbers depend only
// on `seq`. Returns ResourceExhausted if the block is too small.
inline absl::Status WriteTestTask(absl::Span<std::byte> block, BatchSeq seq,
                                  uint32_t num_edges) {
  TaskWriter writer(block, kTestJob, seq, /*num_seeds=*/1);
  const auto hop = writer.AddHop(1, num_edges);
  if (!hop.ok()) return hop.status();
  hop->indptr[0] = 0;
  hop->indptr[1] = num_edges;
  for (uint32_t i = 0; i < num_edges; ++i) hop->indices[i] = i + 1;
  writer.SetNumSources(num_edges + 1);
  const auto nodes = writer.AddInputNodes(num_edges + 1);
  if (!nodes.ok()) return nodes.status();
  for (uint32_t i = 0; i <= num_edges; ++i) {
    (*nodes)[i] = static_cast<uint32_t>(seq.value() * 1000 + i);
  }
  writer.Finish({});
  return absl::OkStatus();
}

// Whether the block holds the whole task that WriteTestTask() wrote for `seq`.
inline bool HoldsTestTask(absl::Span<const std::byte> block, BatchSeq seq) {
  const absl::StatusOr<TaskView> task = ReadTask(block, kTestJob);
  if (!task.ok() || task->seq != seq) return false;
  for (size_t i = 0; i < task->input_nodes.size(); ++i) {
    if (task->input_nodes[i] != static_cast<uint32_t>(seq.value() * 1000 + i)) {
      return false;
    }
  }
  return true;
}

// Claims the lowest free slot, expects that its batch is `seq`, and publishes
// the task.
inline void ProduceNext(GlobalQueue* queue, BatchSeq seq) {
  FGNN_ASSERT_OK_AND_ASSIGN(auto slot, queue->TryClaimForWriting());
  ASSERT_TRUE(slot.has_value());
  ASSERT_EQ(slot->seq(), seq);
  FGNN_ASSERT_OK(WriteTestTask(slot->block(), seq, /*num_edges=*/5));
  FGNN_ASSERT_OK(std::move(*slot).Publish());
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_QUEUE_SEGMENT_FOR_TESTS_H_
