// The scheduler of one state folder: composes its parts and runs them in order.
#ifndef FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_
#define FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/signal_waiter.h"

namespace fgnn {

struct SchedulerOptions {
  std::filesystem::path state_dir;
  // Where executors of jobs that name no devices run.
  std::vector<std::string> devices;
  // The scheduler starts the daemons and ends them with itself; else a service
  // manager does, and they register.
  bool spawn_daemons = false;
  // Ends once no job is queued or running: after the first job, or after a
  // minute without any.
  bool exit_when_idle = false;
  std::filesystem::path program_dir;  // Holds fgnn-sampler and fgnn-trainer.
  std::string version;                // Of the program.
};

class SchedulerDaemon {
 public:
  // Serves once this returns. Stops at a signal or call for `stop`, which is
  // borrowed. AlreadyExists: another service runs in the folder, or something
  // listens on its sockets. InvalidArgument: a device that the machine has not.
  static absl::StatusOr<std::unique_ptr<SchedulerDaemon>> Start(
      const SchedulerOptions& options, const SignalWaiter* stop);
  ~SchedulerDaemon();
  SchedulerDaemon(const SchedulerDaemon&) = delete;
  SchedulerDaemon& operator=(const SchedulerDaemon&) = delete;

  // Until `stop`, or until idle if so asked. Then the jobs that run are
  // cancelled, queued ones stay for the next start, daemons that were spawned
  // end, sockets go.
  absl::Status ServeUntil(const SignalWaiter& stop);

 private:
  struct Parts;
  explicit SchedulerDaemon(std::unique_ptr<Parts> parts);
  bool IsIdle() const;
  void Stop();

  std::unique_ptr<Parts> parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_
