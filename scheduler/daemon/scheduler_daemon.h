// The scheduler of one state folder: composes its parts and runs them in order.
#ifndef FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_
#define FGNN_SCHEDULER_DAEMON_SCHEDULER_DAEMON_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/port/port_options.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

struct SchedulerOptions {
  std::filesystem::path state_dir;
  // Devices of the service, for jobs that name none.
  std::vector<Device> devices;
  // Whether the scheduler starts the daemons and ends them when it ends.
  // Otherwise a service manager starts them, and they register.
  bool spawn_daemons = false;
  // Whether the service ends once no job is queued or running: after the first
  // job, or after a minute without any.
  bool exit_when_idle = false;
  // Group whose users may use the service; nullopt: that of this process.
  std::optional<gid_t> socket_group;
  // Most jobs of one user that have not ended: JobTableOptions::max_of_user.
  uint32_t max_jobs_per_user = kMaxJobsOfUser;
  PathRules paths;  // Folders that jobs may name.
  // TCP port for clients on other machines; nullopt: none.
  std::optional<PortOptions> port;
  // Address on which pages are served; nullopt: none are.
  std::optional<HostPort> http;
  // Whether the daemons that it starts log JSON.
  bool log_json = false;
  // Folder with fgnn-gate, fgnn-sampler and fgnn-trainer.
  std::filesystem::path program_dir;
  std::string version;  // Version of the program.
};

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
