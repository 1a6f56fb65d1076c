// HostService: the calls of daemons to their host.
#ifndef FGNN_SCHEDULER_RPC_HOST_SERVICE_H_
#define FGNN_SCHEDULER_RPC_HOST_SERVICE_H_

#include "fgnn/v1/host.grpc.pb.h"
#include "scheduler/host/daemon_host.h"

namespace fgnn {

// Thread-safe.
class HostServiceAdapter final : public v1::HostService::Service {
 public:
  explicit HostServiceAdapter(DaemonHost* host) : host_(host) {}

  grpc::Status Register(grpc::ServerContext* context,
                        const v1::RegisterRequest* request,
                        v1::RegisterResponse* response) override;
  grpc::Status Heartbeat(grpc::ServerContext* context,
                         const v1::HeartbeatRequest* request,
                         v1::HeartbeatResponse* response) override;

 private:
  DaemonHost* const host_;  // Borrowed.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_HOST_SERVICE_H_
