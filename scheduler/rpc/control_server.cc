#include "scheduler/rpc/control_server.h"

#include <utility>

#include "scheduler/rpc/device_service.h"
#include "scheduler/rpc/host_service.h"
#include "scheduler/rpc/job_service.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/server.h"

namespace fgnn {

struct ControlServer::Parts {
  Parts(ServiceFacts facts, JobTable* table, DaemonHost* host)
      : devices(facts.devices, facts.user, table, host),
        jobs(std::move(facts), table, host),
        daemons(host) {}
  DeviceServiceAdapter devices;
  JobServiceAdapter jobs;
  HostServiceAdapter daemons;
  std::unique_ptr<RpcServer> server;  // Last: it borrows the others.
};

ControlServer::ControlServer(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

ControlServer::~ControlServer() = default;

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    ServiceFacts facts, JobTable* table, DaemonHost* host) {
  const std::filesystem::path socket = SchedulerSocketPath(facts.state_dir);
  auto parts = std::make_unique<Parts>(std::move(facts), table, host);
  FGNN_ASSIGN_OR_RETURN(parts->server,
                        RpcServer::Start(socket, {&parts->jobs, &parts->devices,
                                                  &parts->daemons}));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(parts)));
}

void ControlServer::Shutdown(std::chrono::milliseconds grace) {
  parts_->server->Shutdown(grace);
}

}  // namespace fgnn
