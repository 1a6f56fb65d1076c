// The thread that watches the daemons of a host, and starts and restarts them.
// The kernel tells it of deaths; missing heartbeats tell it that a daemon
// hangs. It gives back what a dead daemon held.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_WATCH_H_
#define FGNN_SCHEDULER_HOST_DAEMON_WATCH_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "scheduler/host/book/daemon.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/host/book/hang_watch.h"
#include "scheduler/host/host_state.h"
#include "shared/base/clock.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// Watches from its construction to its destruction.
class DaemonWatch {
 public:
  // Borrows `state`. Throws std::system_error if the system cannot start
  // another thread.
  explicit DaemonWatch(HostState* state);
  ~DaemonWatch();
  DaemonWatch(const DaemonWatch&) = delete;
  DaemonWatch& operator=(const DaemonWatch&) = delete;

 private:
  void Watch();
  // Returns true once the host ends.
  bool WatchOnce();
  void WaitForEvent();
  void Check(Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Bury(Daemon& daemon, Deadline now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void PlanRestart(Daemon& daemon, const DaemonTable::Burial& burial,
                   Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Returns why a daemon that has ended is not started again.
  absl::Status WhyNotAgain(const Daemon& daemon,
                           const DaemonTable::Burial& burial) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void SetAside(const Daemon& daemon, const DaemonTable::Burial& burial)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void CheckHealth(Daemon& daemon, Deadline now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Returns the reason to kill the daemon; empty: it may live on.
  std::string WhyToKill(Daemon& daemon, Deadline now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  static void Warn(Daemon& daemon, HangWatch::Verdict verdict, Deadline now);
  void Spawn(Daemon& daemon, Deadline now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);

  HostState* const state_;
  bool ending_ ABSL_GUARDED_BY(state_->mutex) = false;
  Thread thread_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_WATCH_H_
