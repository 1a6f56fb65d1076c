#include "scheduler/planning/simulated_queue.h"

#include <algorithm>

namespace fgnn {

SimulatedQueue::SimulatedQueue(const SimulationOptions& options)
    : shape_({.batches_per_epoch = options.batches_per_epoch,
              .epochs = options.epochs,
              .num_slots = options.num_slots,
              .batches_per_step = options.batches_per_step,
              .staleness = options.staleness}),
      last_epoch_(options.epochs - 1),
      staleness_(options.staleness),
      free_(shape_.num_batches().value()),
      unopened_(shape_.num_batches().value()),
      ready_(shape_.num_batches().value()),
      left_of_step_(shape_.num_steps()) {
  for (uint64_t step = 0; step < left_of_step_.size(); ++step) {
    left_of_step_[step] =
        static_cast<uint32_t>(shape_.BatchesOfStep(StepNumber(step)).size());
  }
  const BatchSeq end =
      std::min(BatchSeq(shape_.num_slots()), shape_.num_batches());
  for (BatchSeq seq(0); seq < end; ++seq) unopened_.Add(seq);
  OpenEpoch();
}

void SimulatedQueue::BatchSet::Add(BatchSeq seq) {
  has_[seq.value()] = true;
  lowest_first_.push(seq);
}

BatchSeq SimulatedQueue::BatchSet::TakeLowest() {
  const BatchSeq seq = lowest_first_.top();
  lowest_first_.pop();
  has_[seq.value()] = false;
  return seq;
}

BatchSeq SimulatedQueue::NextIn(BatchSeq seq) const {
  TaskSlot at = shape_.SlotOf(shape_.NumberOf({seq}));
  ++at.generation;
  return shape_.TaskOf(shape_.TaskIn(at)).seq;
}

// Samplers may work on this epoch and the next one, trainers on this one only.
void SimulatedQueue::OpenEpoch() {
  sampling_limit_ =
      shape_.BatchesOfEpoch(std::min(epoch_ + 1, last_epoch_)).end;
  while (!unopened_.empty() && unopened_.lowest() < sampling_limit_) {
    Free(unopened_.TakeLowest());
  }
  batches_left_ = shape_.BatchesOfEpoch(epoch_).size();
  OpenSteps();
}

void SimulatedQueue::OpenSteps() {
  const StepNumber end = std::min(shape_.StepsOfEpoch(epoch_).end,
                                  StepNumber(version_ + staleness_ + 1));
  const BatchSeq last = shape_.BatchesOfStep(end - 1).end;
  for (; open_end_ < last; ++open_end_) {
    if (ready_.contains(open_end_)) ++trainable_;
    if (free_.contains(open_end_)) ++missing_;
  }
}

void SimulatedQueue::Free(BatchSeq seq) {
  free_.Add(seq);
  if (seq < open_end_) ++missing_;
}

BatchSeq SimulatedQueue::ClaimForWriting() {
  const BatchSeq seq = free_.TakeLowest();
  if (seq < open_end_) --missing_;
  return seq;
}

void SimulatedQueue::Publish(BatchSeq seq) {
  ready_.Add(seq);
  if (seq < open_end_) ++trainable_;
}

BatchSeq SimulatedQueue::ClaimForReading() {
  const BatchSeq seq = ready_.TakeLowest();
  --trainable_;
  --batches_left_;
  return seq;
}

void SimulatedQueue::Release(BatchSeq seq) {
  --left_of_step_[shape_.StepOf(seq).value()];
  const BatchSeq next = NextIn(seq);
  if (next >= shape_.num_batches()) return;
  if (next < sampling_limit_) {
    Free(next);
  } else {
    unopened_.Add(next);
  }
}

bool SimulatedQueue::Commit() {
  ++version_;
  if (StepNumber(version_) < shape_.StepsOfEpoch(epoch_).end) {
    OpenSteps();
    return false;
  }
  ++epoch_;
  if (!is_over()) OpenEpoch();
  return true;
}

}  // namespace fgnn
