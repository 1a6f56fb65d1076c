// Gives daemons to a job, or keeps them ready without a job. Stops daemons that
// are in the way, and has missing daemons started.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_PLACER_H_
#define FGNN_SCHEDULER_HOST_DAEMON_PLACER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "scheduler/host/daemon_stopper.h"
#include "scheduler/host/host_state.h"
#include "scheduler/planning/placement.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

struct Placing {
  uint32_t restarts = 0;  // Most restarts of each daemon in ten minutes.
  std::vector<uint32_t> lost = {};  // Lost devices; see JobDaemons::Want().
  // Whether only devices that no job has are used.
  bool only_free_devices = false;
};

// Thread-safe.
class DaemonPlacer {
 public:
  // Both are borrowed.
  DaemonPlacer(HostState* state, DaemonStopper* stopper)
      : state_(state), stopper_(stopper) {}

  // Gives the daemons to the job; with an empty id, keeps them ready without a
  // job. Errors as those of JobDaemons::Want().
  absl::Status Place(const std::string& job_id,
                     const std::vector<ExecutorPlacement>& placements,
                     const Placing& how) ABSL_LOCKS_EXCLUDED(state_->mutex);

 private:
  HostState* const state_;
  DaemonStopper* const stopper_;
  // Held while daemons are chosen, other daemons end, and the chosen ones
  // become due to start. So one job at a time is placed. Never taken while the
  // state's mutex is held.
  Mutex mutex_ ABSL_ACQUIRED_BEFORE(state_->mutex);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_PLACER_H_
