// Ends daemons.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_STOPPER_H_
#define FGNN_SCHEDULER_HOST_DAEMON_STOPPER_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/host/host_state.h"
#include "shared/base/clock.h"

namespace fgnn {

// Thread-safe. The watching thread buries the daemons that have ended.
class DaemonStopper {
 public:
  // Both are borrowed.
  DaemonStopper(HostState* state, ExecutorCalls* calls)
      : state_(state), calls_(calls) {}

  // Asks the daemons to drain and exit; sends SIGTERM after 5 s, and SIGKILL
  // after 3 more. Returns once they are gone and forgotten.
  void Stop(const std::vector<DaemonAddress>& daemons)
      ABSL_LOCKS_EXCLUDED(state_->mutex);
  // Does HostState::Kill() and logs its error.
  void Kill(const DaemonAddress& daemon, const std::string& why)
      ABSL_LOCKS_EXCLUDED(state_->mutex);
  // Returns true once this process is gone, false at the deadline.
  bool WaitUntilGone(const DaemonAddress& daemon, Deadline deadline) const
      ABSL_LOCKS_EXCLUDED(state_->mutex);

 private:
  bool WaitUntilAllGone(const std::vector<DaemonAddress>& daemons,
                        Deadline deadline) const;
  void SignalAll(const std::vector<DaemonAddress>& daemons, int signal,
                 const char* why);

  HostState* const state_;
  ExecutorCalls* const calls_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_STOPPER_H_
