#include "scheduler/daemon/host_part.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/host/book/leftover_daemons.h"
#include "shared/base/clock.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/sockets/socket_name.h"
#include "shared/telemetry/bounded_log.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/service_manager.h"

namespace fgnn {
namespace {

// Descriptors that the least service has opened once it listens, and those that
// clients' calls and a job take for a while.
constexpr uint64_t kDescriptorsToStart = 24;
constexpr uint64_t kDescriptorsToWork = 10;
// Descriptors for the two daemons of a device: a pidfd each, and connections.
constexpr uint64_t kDescriptorsOfDevice = 6;
constexpr std::chrono::milliseconds kLookEvery{200};

// Returns HostTerms::start_command.
std::string CommandToStart(const SchedulerOptions& options) {
  if (options.spawn_daemons) return "";
  // systemd sets it for the units of deploy/systemd.
  if (std::getenv("NOTIFY_SOCKET") != nullptr) {
    return "systemctl start fgnn-{role}@{device}";
  }
  return absl::StrCat("fgnn-{role} --device {device} --state-dir ",
                      options.state_dir.string());
}

// Removes what an earlier service left. No other service may start in the state
// folder meanwhile.
void ClearLeftovers(const std::filesystem::path& state_dir) {
  StopLeftoverDaemons(state_dir);
  // A killed service may have left a socket without its final name.
  SocketName::RemoveUnpublished(state_dir);
  SocketName::RemoveUnpublished(
      ExecutorSocketPath(state_dir, "x").parent_path());
}

}  // namespace

absl::Status CheckServiceDescriptors(size_t num_devices, bool is_started) {
  return CheckDescriptorLimit("the service",
                              (is_started ? 0 : kDescriptorsToStart) +
                                  kDescriptorsToWork +
                                  kDescriptorsOfDevice * num_devices);
}

absl::StatusOr<HostPart> HostPart::Start(const SchedulerOptions& options,
                                         const EarlierStart& earlier,
                                         ExecutorCalls* calls) {
  if (options.spawn_daemons && !earlier.expect_survivors) {
    ClearLeftovers(options.state_dir);
  }
  DaemonHostOptions host_options;
  host_options.state_dir = options.state_dir;
  host_options.spawn = options.spawn_daemons;
  host_options.program_dir = options.program_dir;
  if (options.log_json) host_options.daemon_flags = {"--log-json"};
  host_options.version = options.version;
  host_options.generation = earlier.generation;
  host_options.interrupted_jobs = earlier.interrupted_jobs;
  host_options.expect_survivors = earlier.expect_survivors;
  host_options.start_command = CommandToStart(options);
  if (options.exchange.has_value()) {
    host_options.exchange_flags = {"--exchange",
                                   options.exchange->address.Text()};
    host_options.tls_flags = {"--tls-dir", options.exchange->tls_dir.string()};
  }
  HostPart part;
  FGNN_ASSIGN_OR_RETURN(part.host,
                        DaemonHost::Start(std::move(host_options), calls));
  FGNN_ASSIGN_OR_RETURN(
      part.descriptors,
      DescriptorServer::Start(
          HostSocketPath(options.state_dir),
          {.give =
               [host = part.host.get()](pid_t peer, const std::string& job_id) {
                 return host->SegmentFor(peer, job_id);
               },
           .give_scratch =
               [host = part.host.get()](pid_t peer, const std::string& job_id,
                                        uint64_t number) {
                 return host->ScratchFor(peer, job_id, number);
               },
           .take_back =
               [host = part.host.get()](const std::string& job_id,
                                        UniqueFd segment) {
                 return host->TakeBack(job_id, std::move(segment));
               },
           .take_table =
               [host = part.host.get()](const std::string& job_id,
                                        UniqueFd table) {
                 return host->TakeTable(job_id, std::move(table));
               }}));
  return part;
}

void ServeUntil(const SignalWaiter& stop,
                const std::filesystem::path& state_dir, const StateLock& lock,
                absl::FunctionRef<bool()> ends) {
  BoundedLog log(LogPath(state_dir, "scheduler"));
  ServiceManager manager;
  manager.SayReady();
  while (!stop.WaitUntil(DeadlineIn(kLookEvery))) {
    log.RotateIfLarge();
    const bool has_ended = ends();
    manager.SayAlive();
    if (lock.IsFolderGone())
      LogError("the state folder {} is gone", state_dir.string());
    if (has_ended || lock.IsFolderGone()) break;
  }
  manager.SayStopping();
}

void EndDaemons(const SchedulerOptions& options, const StateLock& lock,
                DaemonHost& host) {
  if (!options.spawn_daemons) return;
  host.StopAll();
  // Killed daemons left their sockets. Another service may have made a folder
  // in the place of one that is gone.
  if (!lock.IsFolderGone()) ClearLeftovers(options.state_dir);
}

}  // namespace fgnn
