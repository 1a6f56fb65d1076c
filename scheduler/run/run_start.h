// How a run gets to where it trains: anew, from a checkpoint of its folder, or,
// if its scheduler alone died, with the segment and the daemons that it had.
#ifndef FGNN_SCHEDULER_RUN_RUN_START_H_
#define FGNN_SCHEDULER_RUN_RUN_START_H_

#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/resume_point.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/run/run_parts.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunStart {
 public:
  // Borrows the parts of a run that has not begun.
  explicit RunStart(RunParts* parts) : parts_(*parts), run_(parts->context) {}

  // Goes on with what outlived the run's scheduler. Returns false if that is
  // not there or does not fit: the run then begins as any other.
  absl::StatusOr<bool> TakeOver();
  // Validates the dataset, starts daemons, measures, plans, makes the run's
  // folder or goes on in it, makes the segment and attaches everybody.
  absl::Status Begin();

 private:
  // Does what the scheduler before may not have got to at the last stop.
  absl::Status FinishStop();
  // Has the dataset validated, reads its sizes, tells of what deserves a
  // warning.
  absl::Status OpenDataset();
  absl::StatusOr<SegmentOptions> Plan();
  absl::Status OpenFolder();
  absl::Status OwnFolder();
  absl::Status GoOnFrom(const ResumePoint& point);
  absl::Status SetState(const RunState& state);
  absl::Status WaitForFirstWeights();
  RunRecord Record() const;

  RunParts& parts_;
  RunContext& run_;
  std::filesystem::path resumed_from_;  // Empty: the run begins anew.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_START_H_
