// Gives daemons to a job, or to nobody: stops who is in the way, has those
// started that are missing.
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
  uint32_t restarts = 0;            // Restarts of each daemon in ten minutes.
  std::vector<uint32_t> lost = {};  // As JobDaemons::Want() has it.
  bool only_free_devices = false;   // Those that no job has.
};

// Thread-safe.
class DaemonPlacer {
 public:
  // Both are borrowed.
  DaemonPlacer(HostState* state, DaemonStopper* stopper)
      : state_(state), stopper_(stopper) {}

  // An empty id stands for nobody. Errors as those of JobDaemons::Want().
  absl::Status Place(const std::string& job_id,
                     const std::vector<ExecutorPlacement>& placements,
                     const Placing& how) ABSL_LOCKS_EXCLUDED(state_->mutex);

 private:
  HostState* const state_;
  DaemonStopper* const stopper_;
  // Held while daemons are chosen, others end, and those are started: of two
  // jobs one does it at a time. Never taken with the state's mutex held.
  Mutex mutex_ ABSL_ACQUIRED_BEFORE(state_->mutex);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_PLACER_H_
