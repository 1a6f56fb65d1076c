#include "tools/fgnn/service_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "tools/fgnn/job_text.h"
#include "tools/fgnn/service_process.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kQueryTimeout = seconds(10);
// A submission checks the dataset's arrays, a cancellation drains daemons.
constexpr milliseconds kActionTimeout = seconds(60);
constexpr milliseconds kWatchTimeout = seconds(30);
constexpr seconds kComeBackTimeout{10};
// As the service has it where a request says nothing.
constexpr uint32_t kUsualListed = 100;
constexpr uint32_t kListedAtOnce = 1'000;

void Prepare(grpc::ClientContext& context, milliseconds timeout) {
  SetDeadline(context, timeout);
  context.AddMetadata("fgnn-user", UserName(::geteuid()));
}

}  // namespace

absl::StatusOr<ServiceClient> ServiceClient::Connect(
    const std::filesystem::path& state_dir) {
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  if (!listens) {
    return absl::UnavailableError(absl::StrCat(
        "no service runs in ", state_dir.string(),
        "; start one with 'fgnn up', or name another with --state-dir"));
  }
  std::filesystem::path socket_path = SchedulerSocketPath(state_dir);
  FGNN_ASSIGN_OR_RETURN(const auto channel, MakeChannel(socket_path));
  ServiceClient client(std::move(socket_path), v1::JobService::NewStub(channel),
                       v1::DeviceService::NewStub(channel));
  FGNN_RETURN_IF_ERROR(client.CheckThatItAnswers(state_dir));
  return client;
}

absl::Status ServiceClient::CheckThatItAnswers(
    const std::filesystem::path& state_dir) {
  const absl::Status status = GetService().status();
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) {
    return status;
  }
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  if (!listens) {
    return absl::UnavailableError(
        absl::StrCat("the service in ", state_dir.string(), " has just ended"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "something listens on ", socket_path_.string(),
      " but does not answer as a service does (", MessageOf(status),
      "); end it, or choose another folder with --state-dir"));
}

absl::StatusOr<v1::ServiceInfo> ServiceClient::GetService() {
  grpc::ClientContext context;
  Prepare(context, kQueryTimeout);
  v1::ServiceInfo info;
  FGNN_RETURN_IF_ERROR(FromGrpc(stub_->GetService(&context, {}, &info)));
  return info;
}

absl::StatusOr<v1::Job> ServiceClient::Submit(
    const v1::SubmitJobRequest& request) {
  grpc::ClientContext context;
  Prepare(context, kActionTimeout);
  v1::SubmitJobResponse response;
  FGNN_RETURN_IF_ERROR(
      FromGrpc(stub_->SubmitJob(&context, request, &response)));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> ServiceClient::GetJob(const std::string& job_id) {
  grpc::ClientContext context;
  Prepare(context, kQueryTimeout);
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  FGNN_RETURN_IF_ERROR(FromGrpc(stub_->GetJob(&context, request, &job)));
  return job;
}

absl::StatusOr<v1::ListJobsResponse> ServiceClient::ListJobs(
    v1::ListJobsRequest request) {
  const uint32_t wanted = request.limit() == 0 ? kUsualListed : request.limit();
  v1::ListJobsResponse all;
  while (static_cast<uint32_t>(all.jobs_size()) < wanted) {
    grpc::ClientContext context;
    Prepare(context, kQueryTimeout);
    request.set_limit(std::min(wanted - static_cast<uint32_t>(all.jobs_size()),
                               kListedAtOnce));
    v1::ListJobsResponse some;
    FGNN_RETURN_IF_ERROR(FromGrpc(stub_->ListJobs(&context, request, &some)));
    if (some.jobs_size() == 0) break;
    request.set_before_job_id(some.jobs().rbegin()->job_id());
    all.MergeFrom(some);
  }
  return all;
}

absl::StatusOr<v1::Job> ServiceClient::Cancel(const std::string& job_id) {
  grpc::ClientContext context;
  Prepare(context, kActionTimeout);
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  FGNN_RETURN_IF_ERROR(FromGrpc(stub_->CancelJob(&context, request, &job)));
  return job;
}

absl::StatusOr<v1::Job> ServiceClient::Pause(const std::string& job_id) {
  grpc::ClientContext context;
  Prepare(context, kActionTimeout);
  v1::PauseJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  FGNN_RETURN_IF_ERROR(FromGrpc(stub_->PauseJob(&context, request, &job)));
  return job;
}

absl::StatusOr<v1::Job> ServiceClient::Continue(const std::string& job_id) {
  grpc::ClientContext context;
  Prepare(context, kQueryTimeout);
  v1::ContinueJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  FGNN_RETURN_IF_ERROR(FromGrpc(stub_->ContinueJob(&context, request, &job)));
  return job;
}

absl::Status ServiceClient::Shutdown() {
  grpc::ClientContext context;
  Prepare(context, kActionTimeout);
  v1::ShutdownResponse response;
  return FromGrpc(stub_->Shutdown(&context, {}, &response));
}

absl::StatusOr<v1::ListDevicesResponse> ServiceClient::ListDevices() {
  grpc::ClientContext context;
  Prepare(context, kQueryTimeout);
  v1::ListDevicesResponse devices;
  FGNN_RETURN_IF_ERROR(
      FromGrpc(device_stub_->ListDevices(&context, {}, &devices)));
  return devices;
}

absl::StatusOr<v1::Device> ServiceClient::SwitchDevice(
    const v1::SwitchDeviceRequest& request) {
  grpc::ClientContext context;
  Prepare(context, kQueryTimeout);
  v1::Device device;
  FGNN_RETURN_IF_ERROR(
      FromGrpc(device_stub_->SwitchDevice(&context, request, &device)));
  return device;
}

absl::StatusOr<v1::Job> ServiceClient::Watch(
    const std::string& job_id, Interrupt& interrupt,
    const std::function<void(const v1::Job&)>& on_change) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  while (true) {
    grpc::ClientContext context;
    Prepare(context, kWatchTimeout);
    // After a restart of the service the channel comes back with a delay.
    context.set_wait_for_ready(true);
    interrupt.NotifyWith([&context] { context.TryCancel(); });
    const auto stream = stub_->WatchJob(&context, request);
    while (stream->Read(&job)) on_change(job);
    const absl::Status status = FromGrpc(stream->Finish());
    interrupt.NotifyWith(nullptr);
    if (HasEnded(job.state())) return job;
    if (interrupt.raised()) return absl::CancelledError("interrupted");
    if (!absl::IsDeadlineExceeded(status) && !absl::IsUnavailable(status)) {
      if (!status.ok()) return status;
      return absl::InternalError(
          absl::StrCat("the service stopped telling of job ", job_id,
                       " while it was ", StateName(job.state())));
    }
    if (!WaitForServer(socket_path_, DeadlineIn(kComeBackTimeout)).ok()) {
      return absl::UnavailableError(absl::StrCat(
          "the service went away while job ", job_id, " was ",
          StateName(job.state()), "; see 'fgnn logs ", job_id, "'"));
    }
  }
}

}  // namespace fgnn
