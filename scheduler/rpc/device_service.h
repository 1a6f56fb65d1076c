// DeviceService: shows what devices do, and switches them by hand.
#ifndef FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_
#define FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/device_service.grpc.pb.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/caller.h"

namespace fgnn {

// The service for one user. Thread-safe.
class DeviceServiceAdapter final : public v1::DeviceService::Service {
 public:
  // `devices` are the service's. Borrows `table`, `host` and `audit`.
  DeviceServiceAdapter(std::vector<Device> devices, Caller caller,
                       JobTable* table, DaemonHost* host, AuditLog* audit)
      : devices_(std::move(devices)),
        caller_(std::move(caller)),
        table_(table),
        host_(host),
        audit_(audit) {}

  grpc::Status ListDevices(grpc::ServerContext* context,
                           const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override;
  grpc::Status SwitchDevice(grpc::ServerContext* context,
                            const v1::SwitchDeviceRequest* request,
                            v1::Device* response) override;

 private:
  absl::Status Switch(const v1::SwitchDeviceRequest& request,
                      v1::Device* response);
  // Returns the id of the running job that has the device. FailedPrecondition:
  // no job runs. NotFound: no running job has the device.
  absl::StatusOr<std::string> RunningJobOn(const std::string& device);
  // Returns the devices of a job, which may have ended meanwhile.
  absl::StatusOr<std::vector<v1::Device>> DevicesOf(const std::string& job_id);

  const std::vector<Device> devices_;
  const Caller caller_;
  JobTable* const table_;
  DaemonHost* const host_;
  AuditLog* const audit_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_
