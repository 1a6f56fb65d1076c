#include "scheduler/host/daemon_placer.h"

#include "scheduler/executors/daemon_address.h"
#include "scheduler/host/book/executor_names.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {

absl::Status DaemonPlacer::Place(
    const std::string& job_id, const std::vector<ExecutorPlacement>& placements,
    const Placing& how) {
  const MutexLock placing(&mutex_);
  std::vector<JobExecutor> executors;
  std::vector<DaemonAddress> to_stop;
  {
    const MutexLock lock(&state_->mutex);
    DaemonAssignment& assignment = state_->assignment;
    assignment.AddJob(job_id, placements);
    executors = assignment.NameFor(
        job_id, how.only_free_devices ? assignment.OnFreeDevices(placements)
                                      : placements);
    to_stop = assignment.Dismiss(job_id, executors);
  }
  stopper_->Stop(to_stop);
  const MutexLock lock(&state_->mutex);
  FGNN_RETURN_IF_ERROR(state_->assignment.Want(
      job_id, executors, how.restarts, how.lost, MonotonicClock::now()));
  state_->Wake();
  return absl::OkStatus();
}

}  // namespace fgnn
