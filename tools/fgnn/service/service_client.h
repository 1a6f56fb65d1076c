// A client of the service of one state folder. Every call has a deadline and
// names the user of this process.
#ifndef FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_
#define FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/device_service.grpc.pb.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "tools/fgnn/service/interrupt.h"

namespace fgnn {

// Errors are the service's answers. Unavailable: none runs. Movable;
// thread-compatible.
class ServiceClient {
 public:
  // Unavailable, with the command that starts a service: no server listens in
  // `state_dir`. PermissionDenied: this user may not use its socket.
  // DeadlineExceeded: the server there does not answer as a service.
  static absl::StatusOr<ServiceClient> Connect(
      const std::filesystem::path& state_dir);

  absl::StatusOr<v1::ServiceInfo> GetService();
  // A second call with the same client_key returns the same job.
  absl::StatusOr<v1::SubmitJobResponse> Submit(
      const v1::SubmitJobRequest& request);
  absl::StatusOr<v1::Job> GetJob(const std::string& job_id);
  // Returns as many jobs as request.limit() asks for, in as many calls as
  // needed.
  absl::StatusOr<v1::ListJobsResponse> ListJobs(v1::ListJobsRequest request);
  // Returns once no part of the job is running.
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  // Returns once the job is paused, with a checkpoint of its state.
  absl::StatusOr<v1::Job> Pause(const std::string& job_id);
  absl::StatusOr<v1::Job> Continue(const std::string& job_id);
  // Deletes a job that has ended, and its run's folder if that is its own.
  absl::StatusOr<v1::DeleteJobResponse> Delete(const std::string& job_id);
  // A service that ends when idle stays from now on. Unavailable: it is ending.
  absl::Status KeepRunning();
  absl::Status Shutdown();
  absl::StatusOr<v1::ListDevicesResponse> ListDevices();
  absl::StatusOr<v1::Device> SwitchDevice(
      const v1::SwitchDeviceRequest& request);

  // Calls `on_change` with the job now and whenever it has changed, until it
  // has ended. Returns its last state. Cancelled: Ctrl-C came. Unavailable: the
  // service went away and did not come back in ten seconds.
  absl::StatusOr<v1::Job> Watch(
      const std::string& job_id, Interrupt& interrupt,
      const std::function<void(const v1::Job&)>& on_change);

 private:
  ServiceClient(std::filesystem::path socket_path,
                std::unique_ptr<v1::JobService::Stub> stub,
                std::unique_ptr<v1::DeviceService::Stub> device_stub)
      : socket_path_(std::move(socket_path)),
        stub_(std::move(stub)),
        device_stub_(std::move(device_stub)) {}

  absl::Status CheckThatItAnswers(const std::filesystem::path& state_dir);

  std::filesystem::path socket_path_;
  std::unique_ptr<v1::JobService::Stub> stub_;
  std::unique_ptr<v1::DeviceService::Stub> device_stub_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_
