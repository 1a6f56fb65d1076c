#include "scheduler/rpc/control_server.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "scheduler/files/job_dataset.h"
#include "scheduler/gate/process/gate_process.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/callers/caller.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/device_service.h"
#include "scheduler/rpc/host_service.h"
#include "scheduler/rpc/job_service.h"
#include "scheduler/rpc/job_watchers.h"
#include "scheduler/rpc/members/held_links.h"
#include "scheduler/rpc/members/member_service.h"
#include "scheduler/rpc/port/port_server.h"
#include "scheduler/rpc/watch_service.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/server.h"
#include "shared/telemetry/line_limit.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::StatusOr<std::unique_ptr<GateProcess>> StartGateOfUsers(
    const std::filesystem::path& program) {
  const auto limit = std::make_shared<LineLimit>();
  return GateProcess::Start(
      {.program = program,
       .name = "the users' socket",
       .on_refused =
           [limit](RefusalReason /*reason*/, const std::string& key,
                   const std::string& why) {
             if (!limit->Ask(MonotonicClock::now()).has_value()) return;
             LogWarning("connections of {} are closed: {}", key, why);
           },
       .trusted_keys = {KeyOfUser(0), KeyOfUser(::geteuid())}});
}

}  // namespace

struct ControlServer::Parts {
  Parts(ServiceFacts of_service, JobTable* jobs, DaemonHost* daemons,
        std::unique_ptr<AuditLog> log)
      : facts(std::move(of_service)),
        table(jobs),
        host(daemons),
        audit(std::move(log)),
        watchers(jobs),
        links(facts.members),
        host_service(daemons) {}

  Services ServicesFor(const std::shared_ptr<Callers>& callers) {
    Services made;
    made.services.push_back(std::make_unique<JobServiceAdapter>(
        JobServiceParts{&facts, table, host, &datasets, audit.get()}, callers));
    made.services.push_back(std::make_unique<DeviceServiceAdapter>(
        facts.devices, callers, table, host, facts.members, audit.get()));
    made.others = std::make_unique<WatchService>(callers, &watchers);
    return made;
  }

  const ServiceFacts facts;
  JobTable* const table;
  DaemonHost* const host;
  const std::unique_ptr<AuditLog> audit;
  KnownDatasets datasets;
  JobWatchers watchers;
  HeldLinks links;
  HostServiceAdapter host_service;
  // Declared last, since they borrow the others.
  std::unique_ptr<RpcServer> for_daemons;
  std::unique_ptr<GateProcess> gate;  // nullptr: there is no gate.
  std::unique_ptr<RpcServer> for_users;
  std::unique_ptr<PortServer> for_remote_users;  // nullptr: there is no port.
};

ControlServer::ControlServer(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

ControlServer::~ControlServer() { Shutdown(std::chrono::milliseconds(0)); }

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    ServiceFacts facts, JobTable* table, DaemonHost* host) {
  const std::filesystem::path state_dir = facts.state_dir;
  const std::optional<gid_t> group = facts.socket_group;
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<AuditLog> audit,
                        AuditLog::Open(LogPath(state_dir, "audit")));
  auto parts =
      std::make_unique<Parts>(std::move(facts), table, host, std::move(audit));
  FGNN_ASSIGN_OR_RETURN(
      parts->for_daemons,
      RpcServer::Start(DaemonsSocketPath(state_dir), {&parts->host_service}));
  RpcServer::Gate pass;
  if (!parts->facts.gate.empty()) {
    FGNN_ASSIGN_OR_RETURN(parts->gate, StartGateOfUsers(parts->facts.gate));
    pass = [gate = parts->gate.get()](UniqueFd client, const std::string& key) {
      return gate->Pass(std::move(client), key);
    };
  }
  FGNN_ASSIGN_OR_RETURN(
      parts->for_users,
      RpcServer::StartForUsers(
          SchedulerSocketPath(state_dir),
          [made = parts.get()](uid_t uid, const ConnectionPeers& peers) {
            return made->ServicesFor(std::make_shared<OneCaller>(
                CallerOf(uid, ::geteuid(), &peers)));
          },
          ConnectionLimits(), group, std::move(pass)));
  if (parts->facts.port.has_value()) {
    FGNN_ASSIGN_OR_RETURN(
        parts->for_remote_users,
        PortServer::Start(
            *parts->facts.port,
            [made = parts.get()](std::shared_ptr<Callers> callers) {
              Services services = made->ServicesFor(callers);
              if (made->facts.members != nullptr) {
                services.services.push_back(
                    std::make_unique<MemberServiceAdapter>(
                        callers, made->facts.members, made->facts.state_dir));
                services.others = std::make_unique<WatchService>(
                    callers, &made->watchers, &made->links);
              }
              return services;
            },
            parts->facts.refusals, parts->facts.gate));
  }
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(parts)));
}

void ControlServer::Shutdown(std::chrono::milliseconds grace) {
  // These calls would otherwise last for the whole grace.
  parts_->watchers.EndAll();
  parts_->links.EndAll();
  if (parts_->for_remote_users != nullptr) {
    parts_->for_remote_users->Shutdown(grace);
  }
  parts_->for_users->Shutdown(grace);
  parts_->for_daemons->Shutdown(grace);
}

}  // namespace fgnn
