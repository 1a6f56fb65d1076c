#include "trainer_service/daemon/ahead_choice.h"

#include <algorithm>

namespace fgnn {

bool AheadChoice::SetLimit(AheadLimit limit) {
  const bool differs = limit.batches != limit_.batches;
  limit_ = limit;
  return differs;
}

std::vector<BatchRange> AheadChoice::Ranges(const OpenSteps& open,
                                            StepNumber limit) const {
  StepNumber end = open.end;
  if (limit_.batches == AheadLimit::kNextStep) end = std::min(end + 1, limit);
  std::vector<BatchRange> ranges;
  for (StepNumber step = open.first; step < end; ++step) {
    if (step >= open.end && step == overflowing_step_) continue;
    if (MayKeepMore(step)) ranges.push_back(shape_.BatchesOfStep(step));
  }
  if (plan_.staleness > 0) std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

bool AheadChoice::Keep(BatchSeq seq, bool in_overflow, const OpenSteps& open) {
  const StepNumber step = shape_.StepOf(seq);
  if (step >= open.end && in_overflow) {
    overflowing_step_ = step;
    return false;
  }
  ++kept_[step];
  return true;
}

void AheadChoice::ForgetBefore(StepNumber step) {
  kept_.erase(kept_.begin(), kept_.lower_bound(step));
}

bool AheadChoice::MayKeepMore(StepNumber step) const {
  const uint64_t share =
      (plan_.own_places() * plan_.parts + limit_.num_trainers - 1) /
      limit_.num_trainers;
  const auto kept = kept_.find(step);
  return kept == kept_.end() || kept->second < share;
}

}  // namespace fgnn
