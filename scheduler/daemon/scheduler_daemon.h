// The scheduler of one state folder: composes its parts and runs them in order.
#ifndef FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_
#define FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/daemon/scheduler_options.h"
#include "shared/base/threads/signal_waiter.h"

namespace fgnn {

class SchedulerDaemon {
 public:
  // Starts the service, which serves once this returns. It stops at a signal or
  // a call to `stop`, which is borrowed. AlreadyExists: another service runs in
  // the folder, or a process listens on its sockets or ports. InvalidArgument:
  // the machine lacks a device.
  static absl::StatusOr<std::unique_ptr<SchedulerDaemon>> Start(
      const SchedulerOptions& options, const SignalWaiter* stop);
  ~SchedulerDaemon();
  SchedulerDaemon(const SchedulerDaemon&) = delete;
  SchedulerDaemon& operator=(const SchedulerDaemon&) = delete;

  // Serves until `stop`, until the service is idle if exit_when_idle, or until
  // the state folder is gone. Call it on the thread that made `stop`. Queued
  // jobs stay for the next start. After a signal running jobs stay as well:
  // they let go of their devices, and the next start goes on with them. Jobs
  // that need more than 8 s for that are treated as after a death of the
  // service. In other cases running jobs are cancelled. Spawned daemons are
  // ended, and the sockets are removed.
  absl::Status ServeUntil(const SignalWaiter& stop);

 private:
  struct Parts;
  explicit SchedulerDaemon(std::unique_ptr<Parts> parts);
  bool IsIdle() const;
  // Ends the service. `keeps_jobs`: see JobTable::Close().
  void Stop(bool keeps_jobs);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_
