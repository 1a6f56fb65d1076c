// The start of a run until it trains: anew, or from a checkpoint of its folder.
// If only its scheduler died, the run goes on with its segment and daemons.
#ifndef FGNN_SCHEDULER_RUN_RUN_START_H_
#define FGNN_SCHEDULER_RUN_RUN_START_H_

#include <filesystem>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/access/user_path.h"
#include "scheduler/files/resume_point.h"
#include "scheduler/files/run_folder.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/run/run_parts.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunStart {
 public:
  // Borrows the parts of a run that has not begun.
  explicit RunStart(RunParts* parts) : parts_(*parts), run_(parts->context) {}

  // Goes on with the segment and the daemons that outlived the run's scheduler.
  // Returns false if there are none or they do not fit; the run then begins as
  // any other.
  absl::StatusOr<bool> TakeOver();
  // Validates the dataset, starts daemons, measures, plans, makes the run's
  // folder or goes on in it, makes the segment and attaches all daemons.
  absl::Status Begin();

 private:
  // Finds the run's folder by the rights of the job's user.
  // PermissionDenied: these changed since the submission.
  absl::StatusOr<FoundPath> FindByRights(
      const std::filesystem::path& run_dir) const;
  // Takes the folder of a run that goes on. FailedPrecondition: the folder is
  // still as an earlier run left it.
  absl::StatusOr<RunFolder> KeepFolder(double seconds_before) const;
  // Does what the earlier scheduler may have left undone at the last stop.
  absl::Status FinishStop();
  // Makes the run's folder, or takes that of an earlier run. The latter is not
  // changed yet, so that it stays as it is if the run does not get to train.
  absl::StatusOr<StartedRun> OpenFolder(const SegmentOptions& segment);
  absl::Status OwnFolder();
  // Finds the point in the folder from which the run goes on.
  absl::Status PlanToGoOn();
  // Makes the segment, attaches all daemons and loads the first weights.
  absl::Status Attach();
  // Begins to write into an earlier run's folder, back at that point.
  absl::Status EnterFolder();
  absl::Status MakeBestIfItWas(const ResumePoint& point);
  absl::Status SetState(const RunState& state);
  RunRecord Record(double seconds_before) const;

  RunParts& parts_;
  RunContext& run_;
  // Point that the run goes on from; nullopt: it begins anew.
  std::optional<ResumePoint> point_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_START_H_
