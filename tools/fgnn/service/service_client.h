// A client of the service of one state folder, or of one on another machine.
// Every call has a deadline.
#ifndef FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_
#define FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/device_service.grpc.pb.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/service_place.h"

namespace fgnn {

// Jobs of a list without a limit.
inline constexpr uint32_t kUsualListed = 100;

// Errors are the service's answers. Unavailable: none runs. Movable;
// thread-compatible.
class ServiceClient {
 public:
  // Unavailable, with the command that starts a service: no server listens in
  // `state_dir`. PermissionDenied: this user may not use its socket.
  // DeadlineExceeded: the server there does not answer as a service.
  // ResourceExhausted, in its words: it took no new connection of this user for
  // 15 s.
  // For a service on another machine: the errors of MakeRemoteChannel() and
  // ExplainUnreachable(). Unauthenticated: it does not know this user.
  static absl::StatusOr<ServiceClient> Connect(const ServicePlace& place);

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
  // Returns lines of the run's metrics.jsonl, of epochs behind `after_epoch`.
  absl::StatusOr<std::vector<std::string>> GetMetrics(const std::string& job_id,
                                                      uint32_t after_epoch);
  // A service that ends when idle stays from now on. Unavailable: it is ending.
  absl::Status KeepRunning();
  // Ends the service, and this client's connection: a service that ends gives
  // its connected clients some seconds. No call may follow.
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
                std::shared_ptr<grpc::Channel> channel)
      : socket_path_(std::move(socket_path)),
        channel_(std::move(channel)),
        stub_(v1::JobService::NewStub(channel_)),
        device_stub_(v1::DeviceService::NewStub(channel_)) {}

  static absl::StatusOr<ServiceClient> ConnectRemote(const ServicePlace& place);
  absl::Status CheckThatItAnswers(const std::filesystem::path& state_dir);
  // Waits until a service that has gone away is back. Returns false if it is
  // not back in ten seconds.
  bool WaitUntilBack();

  std::filesystem::path socket_path_;  // Empty: it is on another machine.
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> stub_;
  std::unique_ptr<v1::DeviceService::Stub> device_stub_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_SERVICE_CLIENT_H_
