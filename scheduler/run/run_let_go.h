// How a run lets go of its devices before its end.
//
// The scheduler leases the step behind the newest version, as a trainer would
// that is to make it. So nobody makes it, the version stays the newest, and its
// checkpoint can be written in mid-epoch without any word to the trainers.
// Gradients of that step that are there already are thrown away with the
// segment, and computed again: batches are pure functions. A scheduler that
// dies meanwhile is one owner that is dead; its lease is given back.
#ifndef FGNN_SCHEDULER_RUN_RUN_LET_GO_H_
#define FGNN_SCHEDULER_RUN_RUN_LET_GO_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/run/run_parts.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunLetGo {
 public:
  // Borrows the run's parts.
  explicit RunLetGo(RunParts* parts) : parts_(*parts), run_(parts->context) {}

  // Nothing would be lost, if the run let go, but what it does just now.
  void AllowAnywhere(bool is_allowed) { may_anywhere_ = is_allowed; }

  // Returns Aborted, and why() says more, if the job is to let go of its
  // devices and may do so anywhere. Else OK.
  absl::Status AnywhereIfAsked();
  // Between two steps, or behind an epoch: the same once a checkpoint of a step
  // that is the last one is written. OK: the job goes on.
  absl::Status IfAsked();
  // The run has ended for another reason.
  void Forget() { why_ = LetGo::kNo; }

  // Returns why the run lets go of its devices. kNo: it does not.
  LetGo why() const { return why_; }

 private:
  // Returns the newest version, which stays so; nullopt: see
  // JobSegment::HoldVersion().
  absl::StatusOr<std::optional<uint64_t>> HoldVersion();
  // The job keeps its devices, for its checkpoint failed.
  absl::Status KeepOn(const absl::Status& saved);

  RunParts& parts_;
  RunContext& run_;
  LetGo why_ = LetGo::kNo;
  bool may_anywhere_ = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_LET_GO_H_
