// The options of a scheduler: fgnn-scheduler's flags, read and checked.
#ifndef FGNN_SCHEDULER_DAEMON_SCHEDULER_OPTIONS_H_
#define FGNN_SCHEDULER_DAEMON_SCHEDULER_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/files/access/path_rules.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/port/port_options.h"
#include "shared/device/device.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

struct ExchangeOptions {
  HostPort address;  // Where it listens, and where other hosts reach it.
  // Folder with host.pem, host.key and ca.pem.
  std::filesystem::path tls_dir;
  // Seconds of silence after which another host counts as lost.
  uint32_t timeout_seconds = 5;
};

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
  // Name of this host, for people and for other hosts.
  std::string host_name;
  // How this host trades gradients with others; nullopt: it does not.
  std::optional<ExchangeOptions> exchange;
  // The head that this host joins, with the certificate of its exchange;
  // nullopt: it is a head itself.
  std::optional<HostPort> join;
  // Whether the daemons that it starts log JSON.
  bool log_json = false;
  // Folder with fgnn-gate, fgnn-sampler and fgnn-trainer.
  std::filesystem::path program_dir;
  std::string version;  // Version of the program.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_DAEMON_SCHEDULER_OPTIONS_H_
