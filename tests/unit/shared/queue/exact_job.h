// A job whose final weights are known. Every batch adds its own numbers to the
// weights, so a lost batch, or one that counts twice, changes them. Samplers
// and trainers take turns that never wait. So threads may run them, processes
// that are killed, or one caller after the other.
#ifndef FGNN_TESTS_UNIT_SHARED_QUEUE_EXACT_JOB_H_
#define FGNN_TESTS_UNIT_SHARED_QUEUE_EXACT_JOB_H_

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {

enum class Turn { kDone, kNothingToDo, kFinished };

// Returns the number by which WriteTestTask() knows a part of a batch: the
// batch's for its first part.
inline BatchSeq ContentOf(const BatchPart& task) {
  return BatchSeq(task.seq.value() + task.part * uint64_t{1'000'000});
}

// Returns the number that a task adds to weight i. Sums of up to 170,000 such
// numbers are exact floats.
inline float ExactGradient(const BatchPart& task, size_t i) {
  return static_cast<float>((ContentOf(task).value() * 31 + i * 7) % 97);
}

// Returns the number of a task's edges. All tasks of some batches are too large
// for their slots.
inline uint32_t EdgesOf(BatchSeq seq) { return seq.value() % 3 == 1 ? 500 : 5; }

inline uint64_t LastVersion(const SegmentOptions& options) {
  return JobShape(options).num_steps();
}

// Writes the task into the slot. Returns DeadlineExceeded if the task needs the
// overflow block and the block is in use.
inline absl::Status WriteExactTask(WriteSlot& slot, Deadline deadline) {
  const BatchSeq content = ContentOf(slot.batch_part());
  const uint32_t num_edges = EdgesOf(slot.seq());
  const absl::Status written = WriteTestTask(slot.block(), content, num_edges);
  if (!absl::IsResourceExhausted(written)) return written;
  FGNN_RETURN_IF_ERROR(slot.SwitchToOverflow(deadline));
  return WriteTestTask(slot.block(), content, num_edges);
}

// Claims the free parts of the lowest batch and publishes their tasks. Gives
// back those that need an overflow block that is in use.
inline absl::StatusOr<Turn> SamplerTurn(GlobalQueue* queue, Deadline deadline) {
  FGNN_ASSIGN_OR_RETURN(std::vector<WriteSlot> slots,
                        queue->TryClaimBatchForWriting());
  if (slots.empty()) return Turn::kNothingToDo;
  for (WriteSlot& slot : slots) {
    const absl::Status written = WriteExactTask(slot, deadline);
    if (absl::IsDeadlineExceeded(written)) return Turn::kNothingToDo;
    FGNN_RETURN_IF_ERROR(written);
  }
  for (WriteSlot& slot : slots) {
    FGNN_RETURN_IF_ERROR(std::move(slot).Publish());
  }
  return Turn::kDone;
}

// Makes a step: new weights = old weights + gradients. The first number of the
// optimizer state counts the tasks.
inline absl::Status MakeExactStep(StepLease lease) {
  absl::Span<float> weights = lease.new_weights();
  const bool initial = lease.is_initial();
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = initial ? 0 : lease.old_weights()[i];
    for (const auto gradient : lease.gradients()) weights[i] += gradient[i];
  }
  float& count = lease.new_optimizer_state()[0];
  count = initial ? 0 : lease.old_optimizer_state()[0];
  for (const uint32_t examples : lease.batch_examples()) {
    count += static_cast<float>(examples);  // One a task.
  }
  return std::move(lease).Publish();
}

// Makes the step if all gradients are there; else computes a gradient.
inline absl::StatusOr<Turn> TrainerTurn(GlobalQueue* queue,
                                        GradientBoard* board,
                                        const SegmentOptions& options) {
  if (std::optional<StepLease> lease = board->TryLease()) {
    FGNN_RETURN_IF_ERROR(MakeExactStep(*std::move(lease)));
    return Turn::kDone;
  }
  if (board->version() == LastVersion(options)) return Turn::kFinished;
  const std::optional<OpenSteps> open = board->FindOpenSteps();
  if (!open.has_value()) return Turn::kNothingToDo;
  FGNN_ASSIGN_OR_RETURN(
      auto slot, queue->TryClaimForReading(BatchSeq(0), open->last_batch));
  if (!slot.has_value()) return Turn::kNothingToDo;
  const BatchPart task = slot->batch_part();
  if (!board->IsDone(task)) {
    if (!HoldsTestTask(slot->block(), ContentOf(task))) {
      return absl::DataLossError(
          absl::StrCat("torn task of batch ", task.seq.value()));
    }
    absl::Span<float> gradient = board->gradient(task);
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = ExactGradient(task, i);
    }
    BatchRecord record;
    record.batch_examples = 1;
    record.digest = static_cast<uint32_t>(task.seq.value());
    FGNN_RETURN_IF_ERROR(board->MarkDone(task, record));
  }
  FGNN_RETURN_IF_ERROR(std::move(*slot).Release());
  return Turn::kDone;
}

// Expects that every task of the job counted once, and that every slot is
// free.
inline void ExpectExactResult(Segment* segment) {
  const SegmentOptions& options = segment->options();
  const GradientBoard board(segment, kNoOwner);
  const uint64_t last = LastVersion(options);
  ASSERT_EQ(board.version(), last);
  const BatchSeq num_batches(options.batches_per_epoch * options.epochs);
  EXPECT_EQ(board.optimizer_state(last)[0],
            static_cast<float>(num_batches.value() * options.parts));
  for (size_t i = 0; i < options.num_parameters; ++i) {
    float expected = 0;
    for (const BatchPart& task :
         PartsOf({BatchSeq(0), num_batches}, options.parts)) {
      expected += ExactGradient(task, i);
    }
    ASSERT_EQ(board.weights(last)[i], expected) << "weight " << i;
  }
  const SlotCounts counts = GlobalQueue(segment, kNoOwner).Counts();
  EXPECT_EQ(counts.free, options.num_slots);
  const BatchSeq last_epoch = num_batches - options.batches_per_epoch;
  for (const BatchPart& task :
       PartsOf({last_epoch, num_batches}, options.parts)) {
    const std::optional<BatchRecord> record = board.record(task);
    ASSERT_TRUE(record.has_value()) << "batch " << task.seq.value();
    EXPECT_EQ(record->digest, static_cast<uint32_t>(task.seq.value()));
  }
}

// Does the rest of the job alone, without a wait. If no turn is possible
// although batches are left, a task or a slot was lost.
inline void FinishAlone(Segment* segment, OwnerIndex sampler,
                        OwnerIndex trainer, uint32_t overflow_block) {
  GlobalQueue sampler_queue(segment, sampler, overflow_block);
  GlobalQueue trainer_queue(segment, trainer);
  GradientBoard board(segment, trainer);
  for (;;) {
    const auto trained =
        TrainerTurn(&trainer_queue, &board, segment->options());
    ASSERT_THAT(trained, IsOk());
    if (*trained == Turn::kFinished) break;
    if (*trained == Turn::kDone) continue;
    const auto sampled = SamplerTurn(&sampler_queue, NoWait());
    ASSERT_THAT(sampled, IsOk());
    ASSERT_EQ(*sampled, Turn::kDone) << "a slot or a batch is lost";
  }
  // Releases batches whose reader died after it had marked the gradient done.
  // Such a batch is READY again, or was even sampled again.
  for (;;) {
    auto late =
        trainer_queue.TryClaimForReading(BatchSeq(0), BatchSeq(UINT64_MAX));
    ASSERT_THAT(late, IsOk());
    if (late->has_value()) {
      ASSERT_TRUE(board.IsDone((*late)->batch_part()));
      ASSERT_THAT(std::move(**late).Release(), IsOk());
      continue;
    }
    const auto sampled = SamplerTurn(&sampler_queue, NoWait());
    ASSERT_THAT(sampled, IsOk());
    if (*sampled != Turn::kDone) return;
  }
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_QUEUE_EXACT_JOB_H_
