#include "tools/fgnn/service/service_client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/remote_channel.h"
#include "shared/rpc/status.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

// Descriptors that a client opens for its calls.
constexpr uint64_t kDescriptorsOfAClient = 10;

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kQueryTimeout = seconds(10);
// Timeout of calls that take long: a submission checks the dataset's arrays, a
// cancellation drains daemons.
constexpr milliseconds kActionTimeout = seconds(60);
constexpr milliseconds kWatchTimeout = seconds(30);
constexpr seconds kComeBackTimeout{10};
// Timeout for a service that takes no new connection of this user for a while.
constexpr seconds kTurnedAwayTimeout{15};
// Timeout for one more attempt to connect: longer than the channel's back-off.
constexpr milliseconds kConnectTimeout{700};
// First pause between two attempts of a call that a busy service did not begin.
constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{500};
// Number of jobs that the service lists if a request names none.
constexpr uint32_t kListedAtOnce = 1'000;

// Returns true if gRPC had no thread left for a call. The call was not begun,
// so it can be made again.
bool IsBusy(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         absl::StrContains(status.message(), "Threadpool");
}

// Makes a call again while the service is busy, with growing pauses. All
// attempts together take no longer than one call may.
template <typename Make>
absl::Status RetryWhileBusy(milliseconds timeout, const Make& make) {
  const Deadline end = DeadlineIn(timeout);
  milliseconds pause = kFirstPause;
  while (true) {
    const absl::Status status = make();
    if (!IsBusy(status)) return status;
    if (MonotonicClock::now() + pause >= end) {
      return absl::ResourceExhaustedError(
          "the service answers as many calls of yours as it can at once; end "
          "some, or try again later");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*),
                              const Request& request,
                              milliseconds timeout = kQueryTimeout) {
  Response response;
  FGNN_RETURN_IF_ERROR(RetryWhileBusy(timeout, [&] {
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    return FromGrpc((stub.*method)(&context, request, &response));
  }));
  return response;
}

template <typename Request>
Request NameJob(const std::string& job_id) {
  Request request;
  request.set_job_id(job_id);
  return request;
}

}  // namespace

absl::StatusOr<ServiceClient> ServiceClient::Connect(
    const ServicePlace& place) {
  // gRPC ends a program that has none left for it.
  FGNN_RETURN_IF_ERROR(CheckDescriptorLimit("fgnn", kDescriptorsOfAClient));
  if (place.is_remote()) return ConnectRemote(place);
  const std::filesystem::path& state_dir = place.state_dir;
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  if (!listens) {
    return absl::UnavailableError(absl::StrCat(
        "no service runs in ", state_dir.string(),
        "; start one with 'fgnn up', or name another with --state-dir"));
  }
  std::filesystem::path socket_path = SchedulerSocketPath(state_dir);
  FGNN_ASSIGN_OR_RETURN(const auto channel, MakeChannel(socket_path));
  ServiceClient client(std::move(socket_path), channel);
  FGNN_RETURN_IF_ERROR(client.CheckThatItAnswers(state_dir));
  return client;
}

absl::StatusOr<ServiceClient> ServiceClient::ConnectRemote(
    const ServicePlace& place) {
  absl::StatusOr<HostPort> address = ParseHostPort(place.server);
  if (!address.ok()) return Annotate(address.status(), "--server");
  const RemoteService service = {.address = *std::move(address),
                                 .tls_dir = place.tls_dir,
                                 .insecure = place.insecure};
  FGNN_ASSIGN_OR_RETURN(auto channel, MakeRemoteChannel(service));
  ServiceClient client({}, std::move(channel));
  const absl::Status answer = client.GetService().status();
  if (absl::IsUnavailable(answer) || absl::IsDeadlineExceeded(answer)) {
    FGNN_RETURN_IF_ERROR(ExplainUnreachable(service));
  }
  if (!answer.ok()) return Annotate(answer, service.address.Text());
  return client;
}

bool ServiceClient::WaitUntilBack() {
  if (socket_path_.empty()) {
    return channel_->WaitForConnected(std::chrono::system_clock::now() +
                                      kComeBackTimeout);
  }
  return WaitForServer(socket_path_, DeadlineIn(kComeBackTimeout)).ok();
}

absl::Status ServiceClient::CheckThatItAnswers(
    const std::filesystem::path& state_dir) {
  const Deadline end = DeadlineIn(kTurnedAwayTimeout);
  // The service may begin to take connections between a call and the question
  // why that failed: only the second answer without a reason counts.
  bool was_unexplained = false;
  while (true) {
    const absl::Status status = GetService().status();
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) {
      return status;
    }
    FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
    if (!listens) {
      return absl::UnavailableError(absl::StrCat(
          "the service in ", state_dir.string(), " has just ended"));
    }
    const absl::Status why = ExplainUnreachable(socket_path_);
    const bool is_turned_away = absl::IsResourceExhausted(why);
    if (!is_turned_away &&
        (was_unexplained || absl::IsDeadlineExceeded(status))) {
      return absl::DeadlineExceededError(absl::StrCat(
          "something listens on ", socket_path_.string(),
          " but does not answer as a service does (", MessageOf(status),
          "); end it ('fgnn down --force' ends a service that hangs), or "
          "choose another folder with --state-dir"));
    }
    was_unexplained = !is_turned_away;
    if (is_turned_away && MonotonicClock::now() + kConnectTimeout > end) {
      return Annotate(why, socket_path_.string());
    }
    // gRPC connects again only while a thread waits for it.
    channel_->WaitForConnected(std::chrono::system_clock::now() +
                               kConnectTimeout);
  }
}

absl::StatusOr<v1::ServiceInfo> ServiceClient::GetService() {
  return Call(*stub_, &v1::JobService::Stub::GetService,
              v1::GetServiceRequest());
}

absl::StatusOr<v1::SubmitJobResponse> ServiceClient::Submit(
    const v1::SubmitJobRequest& request) {
  return Call(*stub_, &v1::JobService::Stub::SubmitJob, request,
              kActionTimeout);
}

absl::StatusOr<v1::Job> ServiceClient::GetJob(const std::string& job_id) {
  return Call(*stub_, &v1::JobService::Stub::GetJob,
              NameJob<v1::GetJobRequest>(job_id));
}

absl::StatusOr<v1::ListJobsResponse> ServiceClient::ListJobs(
    v1::ListJobsRequest request) {
  const uint32_t wanted = request.limit() == 0 ? kUsualListed : request.limit();
  v1::ListJobsResponse all;
  while (static_cast<uint32_t>(all.jobs_size()) < wanted) {
    request.set_limit(std::min(wanted - static_cast<uint32_t>(all.jobs_size()),
                               kListedAtOnce));
    FGNN_ASSIGN_OR_RETURN(
        const v1::ListJobsResponse some,
        Call(*stub_, &v1::JobService::Stub::ListJobs, request));
    if (some.jobs_size() == 0) break;
    request.set_before_job_id(some.jobs().rbegin()->job_id());
    all.MergeFrom(some);
  }
  return all;
}

absl::StatusOr<v1::Job> ServiceClient::Cancel(const std::string& job_id) {
  return Call(*stub_, &v1::JobService::Stub::CancelJob,
              NameJob<v1::CancelJobRequest>(job_id), kActionTimeout);
}

absl::StatusOr<v1::Job> ServiceClient::Pause(const std::string& job_id) {
  return Call(*stub_, &v1::JobService::Stub::PauseJob,
              NameJob<v1::PauseJobRequest>(job_id), kActionTimeout);
}

absl::StatusOr<v1::Job> ServiceClient::Continue(const std::string& job_id) {
  return Call(*stub_, &v1::JobService::Stub::ContinueJob,
              NameJob<v1::ContinueJobRequest>(job_id));
}

absl::StatusOr<v1::DeleteJobResponse> ServiceClient::Delete(
    const std::string& job_id) {
  return Call(*stub_, &v1::JobService::Stub::DeleteJob,
              NameJob<v1::DeleteJobRequest>(job_id), kActionTimeout);
}

absl::StatusOr<std::vector<std::string>> ServiceClient::GetMetrics(
    const std::string& job_id, uint32_t after_epoch) {
  auto request = NameJob<v1::GetMetricsRequest>(job_id);
  request.set_after_epoch(after_epoch);
  FGNN_ASSIGN_OR_RETURN(
      const v1::GetMetricsResponse response,
      Call(*stub_, &v1::JobService::Stub::GetMetrics, request));
  return std::vector<std::string>(response.lines().begin(),
                                  response.lines().end());
}

absl::Status ServiceClient::KeepRunning() {
  return Call(*stub_, &v1::JobService::Stub::KeepRunning,
              v1::KeepRunningRequest())
      .status();
}

absl::Status ServiceClient::Shutdown() {
  const absl::Status status = Call(*stub_, &v1::JobService::Stub::Shutdown,
                                   v1::ShutdownRequest(), kActionTimeout)
                                  .status();
  stub_.reset();
  device_stub_.reset();
  channel_.reset();
  return status;
}

absl::StatusOr<v1::ListDevicesResponse> ServiceClient::ListDevices() {
  return Call(*device_stub_, &v1::DeviceService::Stub::ListDevices,
              v1::ListDevicesRequest());
}

absl::StatusOr<v1::Device> ServiceClient::SwitchDevice(
    const v1::SwitchDeviceRequest& request) {
  return Call(*device_stub_, &v1::DeviceService::Stub::SwitchDevice, request);
}

absl::StatusOr<v1::Job> ServiceClient::Watch(
    const std::string& job_id, Interrupt& interrupt,
    const std::function<void(const v1::Job&)>& on_change) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  while (true) {
    grpc::ClientContext context;
    SetDeadline(context, kWatchTimeout);
    // After a restart of the service the channel connects again with a delay.
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
    if (!WaitUntilBack()) {
      return absl::UnavailableError(absl::StrCat(
          "the service went away while job ", job_id, " was ",
          StateName(job.state()), "; see 'fgnn logs ", job_id, "'"));
    }
  }
}

}  // namespace fgnn
