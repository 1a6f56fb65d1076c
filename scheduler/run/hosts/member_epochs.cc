#include "scheduler/run/hosts/member_epochs.h"

namespace fgnn {

void MemberEpochs::Follow(JobSegment& segment, double seconds) {
  const JobShape shape(segment.options());
  const uint64_t version = segment.board().version().value_or(0);
  if (!next_step_.has_value()) {
    next_step_ = version;
    planner_.BeginEpoch(&facts_);
  }
  facts_.seconds += seconds;
  while (*next_step_ < version) {
    AddStep(segment, shape);
    const uint64_t epoch = shape.EpochOfStep(StepNumber(*next_step_));
    if (++*next_step_ != shape.StepsOfEpoch(epoch).end.value()) continue;
    planner_.EndEpoch(&facts_);
    planner_.Replan(segment.options().epochs - (epoch + 1));
    facts_ = EpochFacts();
    planner_.BeginEpoch(&facts_);
  }
}

void MemberEpochs::AddStep(JobSegment& segment, const JobShape& shape) {
  const BatchRange batches = shape.BatchesOfStep(StepNumber(*next_step_));
  for (const BatchPart& task : PartsOf(batches, segment.options().parts)) {
    // The next epoch may have written its record over this one.
    const std::optional<BatchRecord> record = segment.board().record(task);
    if (record.has_value()) planner_.Add(*record);
  }
}

}  // namespace fgnn
