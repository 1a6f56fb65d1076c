#include "shared/queue/job_shape.h"

namespace fgnn {
namespace {

// Returns how many of the first `places` places of a step are among the `count`
// places from `first` on.
uint64_t CountAmong(uint64_t places, uint64_t first, uint64_t count) {
  return places <= first ? 0 : std::min(places - first, count);
}

}  // namespace

JobShape::JobShape(const SegmentOptions& options)
    : epochs_(options.epochs),
      batches_per_epoch_(options.batches_per_epoch),
      batches_per_step_(std::max(options.batches_per_step, 1u)),
      steps_per_epoch_(batches_per_epoch_ / batches_per_step_ +
                       (batches_per_epoch_ % batches_per_step_ != 0 ? 1 : 0)),
      num_slots_(options.num_slots),
      parts_(static_cast<uint32_t>(options.parts)),
      first_place_(options.places_before),
      local_places_(batches_per_step_ -
                    std::min(batches_per_step_,
                             options.places_before + options.places_after)),
      has_other_hosts_(options.num_hosts > 1),
      // Another host may be done with a step before this host has begun it.
      kept_steps_(uint64_t{options.staleness} + (has_other_hosts_ ? 2 : 1)),
      local_per_epoch_(0) {
  if (steps_per_epoch_ == 0) return;
  const uint64_t whole_steps = steps_per_epoch_ - 1;
  const uint64_t rest = batches_per_epoch_ - whole_steps * batches_per_step_;
  local_per_epoch_ = whole_steps * local_places_ +
                     CountAmong(rest, first_place_, local_places_);
}

uint64_t JobShape::LocalBatchesBelow(BatchSeq seq) const {
  const BatchPlace place = PlaceInEpoch(seq);
  return place.epoch * local_per_epoch_ +
         place.batch / batches_per_step_ * local_places_ +
         CountAmong(place.batch % batches_per_step_, first_place_,
                    local_places_);
}

BatchPart JobShape::TaskOf(TaskNumber number) const {
  const uint64_t local = number.value() / parts_;
  const auto part = static_cast<uint32_t>(number.value() % parts_);
  if (local_places_ == batches_per_step_) return {BatchSeq(local), part};
  // This host has no batches, so num_tasks() is 0 and `number` is beyond it.
  if (local_per_epoch_ == 0) return {num_batches(), part};
  const uint64_t batch = local % local_per_epoch_;
  return {BatchSeq(local / local_per_epoch_ * batches_per_epoch_ +
                   batch / local_places_ * batches_per_step_ + first_place_ +
                   batch % local_places_),
          part};
}

TaskRange TasksOfBatchOf(const JobShape& shape, TaskNumber task) {
  const BatchSeq seq = shape.TaskOf(task).seq;
  return shape.TasksOf({seq, seq + 1});
}

std::vector<BatchPart> PartsOf(const BatchRange& batches, uint64_t num_parts) {
  std::vector<BatchPart> parts;
  for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
    for (uint32_t part = 0; part < num_parts; ++part) {
      parts.push_back({seq, part});
    }
  }
  return parts;
}

}  // namespace fgnn
