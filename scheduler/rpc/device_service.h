// DeviceService: shows what devices do, and switches them by hand.
#ifndef FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_
#define FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/device_service.grpc.pb.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/members/member_table.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/callers/user_calls.h"

namespace fgnn {

// Thread-safe.
class DeviceServiceAdapter final
    : public v1::DeviceService::StreamedUnaryService {
 public:
  // `devices` are the service's. Borrows the others; `members` may be nullptr.
  DeviceServiceAdapter(std::vector<Device> devices,
                       std::shared_ptr<Callers> callers, JobTable* table,
                       DaemonHost* host, const MemberTable* members,
                       AuditLog* audit)
      : devices_(std::move(devices)),
        table_(table),
        host_(host),
        members_(members),
        calls_(std::move(callers), audit) {}

  grpc::Status StreamedListDevices(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ListDevicesRequest,
                                v1::ListDevicesResponse>* stream) override;
  grpc::Status StreamedSwitchDevice(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::SwitchDeviceRequest, v1::Device>* stream)
      override;

 private:
  absl::Status Switch(
      const UserCall<v1::SwitchDeviceRequest, v1::Device>& call);
  // Returns the id of the running job that has the device. FailedPrecondition:
  // no job runs. NotFound: no running job has the device.
  absl::StatusOr<std::string> RunningJobOn(const std::string& device);
  // Returns the devices of a job, which may have ended meanwhile.
  absl::StatusOr<std::vector<v1::Device>> DevicesOf(const std::string& job_id);
  // Returns the devices of other hosts.
  std::vector<v1::Device> DevicesOfMembers() const;
  // Adds the links between hosts.
  void AddLinks(v1::ListDevicesResponse& response) const;

  const std::vector<Device> devices_;
  JobTable* const table_;
  DaemonHost* const host_;
  const MemberTable* const members_;
  const UserCalls calls_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_DEVICE_SERVICE_H_
