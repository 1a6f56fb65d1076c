#include "scheduler/host/host_state.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<HostState>> HostState::Make(
    DaemonHostOptions options) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoToStatus(errno, "make an eventfd");
  return std::unique_ptr<HostState>(
      new HostState(std::move(options), std::move(wake)));
}

HostState::HostState(DaemonHostOptions host_options, UniqueFd wake_fd)
    : options(std::move(host_options)),
      wake(std::move(wake_fd)),
      table(options.spawn, options.hang, options.work_loop),
      assignment(&table),
      members(&table),
      devices(&table) {}

void HostState::Wake() const {
  const uint64_t one = 1;
  // The write fails only if the counter is at its limit; the eventfd is
  // readable then anyway.
  [[maybe_unused]] const ssize_t written =
      ::write(wake.get(), &one, sizeof(one));
}

void HostState::FailJob(const std::string& job_id, const absl::Status& why) {
  HostedJob* const job = table.FindJob(job_id);
  if (job == nullptr || !job->failure.ok()) return;
  job->failure = why;
  changed.NotifyAll();
}

absl::Status HostState::Kill(Daemon& daemon, const std::string& why,
                             const absl::Status& failure) {
  if (!daemon.killed_for.empty() || !daemon.process.has_value()) {
    return absl::OkStatus();
  }
  const LogJob about(daemon.job());
  LogError("{} (pid {}) {}; killed", daemon.placement.name,
           daemon.process->pid(), why);
  daemon.killed_for = why;
  daemon.failure = failure;
  return daemon.process->Signal(SIGKILL);
}

}  // namespace fgnn
