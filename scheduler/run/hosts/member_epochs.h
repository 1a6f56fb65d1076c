// The epochs of a job on a member: what its devices are planned by.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_MEMBER_EPOCHS_H_
#define FGNN_SCHEDULER_RUN_HOSTS_MEMBER_EPOCHS_H_

#include <cstdint>
#include <optional>

#include "scheduler/executors/job_segment.h"
#include "scheduler/figures/epoch_sum.h"
#include "scheduler/run/device_planner.h"
#include "shared/queue/job_shape.h"

namespace fgnn {

// A member plans its devices again after each epoch, by what they took in it,
// as one host does. Not thread-safe.
class MemberEpochs {
 public:
  // Borrows the planner, which has begun.
  explicit MemberEpochs(DevicePlanner* planner) : planner_(*planner) {}

  // Takes the records of the steps that were made since the last call. The
  // first call takes none. At an epoch's end it plans again for the epochs that
  // are left. `seconds`: the time since the last call in which steps were open.
  void Follow(JobSegment& segment, double seconds);

 private:
  void AddStep(JobSegment& segment, const JobShape& shape);

  DevicePlanner& planner_;
  std::optional<uint64_t> next_step_;  // First step that was not taken.
  EpochFacts facts_;                   // Facts of the open epoch.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_MEMBER_EPOCHS_H_
