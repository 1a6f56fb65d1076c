// How a run is preempted: it lets go of its devices before its end.
//
// The scheduler leases the step after the newest version, as a trainer that
// makes it would. So no trainer makes the step, and the version stays the
// newest. Its checkpoint can be written within an epoch, and the trainers need
// not be told. Gradients of that step that exist already are dropped with the
// segment. They are computed again later: batches are pure functions. If the
// scheduler dies meanwhile, it counts as a dead owner and its lease is given
// back.
#ifndef FGNN_SCHEDULER_RUN_RUN_PREEMPTION_H_
#define FGNN_SCHEDULER_RUN_RUN_PREEMPTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/run/run_parts.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunPreemption {
 public:
  // Borrows the run's parts.
  explicit RunPreemption(RunParts* parts)
      : parts_(*parts), run_(parts->context) {}

  // Sets whether the run may be preempted at any point: only the work under way
  // would be lost.
  void AllowAnywhere(bool is_allowed) { may_anywhere_ = is_allowed; }
  // Sets whether the run may be preempted at any point once a host is lost that
  // alone has some rows of features.
  void AllowWithoutRows(bool is_allowed) { may_without_rows_ = is_allowed; }

  // Returns Aborted if the job is to be preempted and may be at this point;
  // why() has the reason. Otherwise returns OK.
  absl::Status AnywhereIfAsked();
  // Preempts the run between two steps if the job is to be preempted. Writes
  // the checkpoint of the newest step first, then returns Aborted; why() has
  // the reason. Returns OK if the job goes on.
  absl::Status IfAsked();
  // Sets why() to kNone: the run has ended for another reason.
  void Forget() { why_ = PreemptionCause::kNone; }

  // Returns why the run is preempted; kNone: it is not.
  PreemptionCause why() const { return why_; }

 private:
  // Returns why the job is to let go of its devices; kNone: it keeps them.
  PreemptionCause Cause() const;
  // Waits until JobSegment::HoldVersion() holds the newest version, and returns
  // that version.
  absl::StatusOr<uint64_t> HoldVersion();
  // Tells the table that the job keeps its devices, as its checkpoint failed.
  absl::Status KeepOn(const absl::Status& saved);

  RunParts& parts_;
  RunContext& run_;
  PreemptionCause why_ = PreemptionCause::kNone;
  bool may_anywhere_ = false;
  bool may_without_rows_ = false;
  // Time from which on a host that is lost counts again.
  Deadline lost_again_ = Deadline::min();
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_PREEMPTION_H_
