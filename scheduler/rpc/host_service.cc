#include "scheduler/rpc/host_service.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

// Checks that a daemon calls for itself only.
absl::Status CheckIsCaller(const grpc::ServerContext& context, int pid) {
  FGNN_ASSIGN_OR_RETURN(const Peer peer, CallingProcess(context));
  if (peer.pid == pid) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer.pid, " says that it is process ", pid,
      peer.pid == 0 ? "; daemons and scheduler need the same PID namespace"
                    : ""));
}

}  // namespace

grpc::Status HostServiceAdapter::Register(grpc::ServerContext* context,
                                          const v1::RegisterRequest* request,
                                          v1::RegisterResponse* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckIsCaller(*context, request->pid()));
    FGNN_ASSIGN_OR_RETURN(Device device, ParseDeviceName(request->device()));
    FGNN_RETURN_IF_ERROR(host_->Register(
        {.name = request->name(),
         .role = request->role(),
         .device = std::move(device),
         .pid = request->pid(),
         .start_time = request->start_time(),
         .socket_path = request->socket_path(),
         .version = request->version(),
         .segment_layout_version = request->segment_layout_version(),
         .job_id = request->job_id(),
         .owner = static_cast<OwnerIndex>(
             std::min<uint32_t>(request->owner(), UINT16_MAX)),
         .number = request->number()}));
    response->set_scheduler_generation(host_->options().generation);
    response->set_heartbeat_interval_ms(
        static_cast<uint32_t>(host_->options().heartbeat_interval.count()));
    return absl::OkStatus();
  });
}

grpc::Status HostServiceAdapter::Heartbeat(
    grpc::ServerContext* context, const v1::HeartbeatRequest* request,
    v1::HeartbeatResponse* /*response*/) {
  return ServeCall(*context, [&]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckIsCaller(*context, request->pid()));
    return host_->Heartbeat(
        {.name = request->name(),
         .pid = request->pid(),
         .working = request->state() == "working",
         .progress = request->progress(),
         .batches = request->batches(),
         .evaluated_permille =
             request->has_evaluated_permille()
                 ? std::optional<uint32_t>(request->evaluated_permille())
                 : std::nullopt,
         .job_id = request->job_id(),
         .failure =
             absl::Status(static_cast<absl::StatusCode>(request->error_code()),
                          request->error_message())});
  });
}

}  // namespace fgnn
