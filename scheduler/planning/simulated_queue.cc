#include "scheduler/planning/simulated_queue.h"

#include <algorithm>

namespace fgnn {

SimulatedQueue::SimulatedQueue(const SimulationOptions& options)
    : batches_per_epoch_(options.batches_per_epoch),
      batches_per_step_(options.batches_per_step),
      steps_per_epoch_(
          (options.batches_per_epoch + options.batches_per_step - 1) /
          options.batches_per_step),
      num_batches_(options.batches_per_epoch * options.epochs),
      staleness_(options.staleness),
      num_slots_(options.num_slots),
      is_free_(num_batches_, false),
      is_ready_(num_batches_, false),
      left_of_step_(steps_per_epoch_ * options.epochs) {
  for (uint64_t step = 0; step < left_of_step_.size(); ++step) {
    left_of_step_[step] =
        static_cast<uint32_t>(FirstBatchOf(step + 1) - FirstBatchOf(step));
  }
  for (BatchSeq seq = 0; seq < std::min(num_slots_, num_batches_); ++seq) {
    unopened_.push(seq);
  }
  OpenEpoch();
}

BatchSeq SimulatedQueue::Pop(LowestFirst& queue) {
  const BatchSeq seq = queue.top();
  queue.pop();
  return seq;
}

BatchSeq SimulatedQueue::FirstBatchOf(uint64_t step) const {
  return step / steps_per_epoch_ * batches_per_epoch_ +
         step % steps_per_epoch_ * batches_per_step_;
}

uint64_t SimulatedQueue::StepOf(BatchSeq seq) const {
  return seq / batches_per_epoch_ * steps_per_epoch_ +
         seq % batches_per_epoch_ / batches_per_step_;
}

// Samplers may work on this epoch and the next, trainers on this one.
void SimulatedQueue::OpenEpoch() {
  sampling_limit_ =
      std::min(num_batches_, (epoch_ + uint64_t{2}) * batches_per_epoch_);
  while (!unopened_.empty() && unopened_.top() < sampling_limit_) {
    Free(Pop(unopened_));
  }
  batches_left_ = batches_per_epoch_;
  OpenSteps();
}

void SimulatedQueue::OpenSteps() {
  const uint64_t end = std::min((epoch_ + uint64_t{1}) * steps_per_epoch_,
                                version_ + staleness_ + 1);
  for (const BatchSeq last = FirstBatchOf(end); open_end_ < last; ++open_end_) {
    if (is_ready_[open_end_]) ++trainable_;
    if (is_free_[open_end_]) ++missing_;
  }
}

void SimulatedQueue::Free(BatchSeq seq) {
  is_free_[seq] = true;
  free_.push(seq);
  if (seq < open_end_) ++missing_;
}

BatchSeq SimulatedQueue::ClaimForWriting() {
  const BatchSeq seq = Pop(free_);
  is_free_[seq] = false;
  if (seq < open_end_) --missing_;
  return seq;
}

void SimulatedQueue::Publish(BatchSeq seq) {
  is_ready_[seq] = true;
  ready_.push(seq);
  if (seq < open_end_) ++trainable_;
}

BatchSeq SimulatedQueue::ClaimForReading() {
  const BatchSeq seq = Pop(ready_);
  is_ready_[seq] = false;
  --trainable_;
  --batches_left_;
  return seq;
}

void SimulatedQueue::Release(BatchSeq seq) {
  --left_of_step_[StepOf(seq)];
  const BatchSeq next = seq + num_slots_;
  if (next >= num_batches_) return;
  if (next < sampling_limit_) {
    Free(next);
  } else {
    unopened_.push(next);
  }
}

bool SimulatedQueue::Commit() {
  ++version_;
  if (version_ < (epoch_ + uint64_t{1}) * steps_per_epoch_) {
    OpenSteps();
    return false;
  }
  ++epoch_;
  if (!is_over()) OpenEpoch();
  return true;
}

}  // namespace fgnn
