#include "scheduler/rpc/device_service.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

v1::Device ToMessage(const Device& device) {
  v1::Device message;
  message.set_name(device.name);
  for (const int core : device.cores) {
    message.add_cores(static_cast<uint32_t>(core));
  }
  return message;
}

v1::Device ToMessage(const DeviceView& view, const std::string& job_id) {
  v1::Device device = ToMessage(view.device);
  device.set_job_id(job_id);
  device.set_plan(std::string(WordOf(view.plan)));
  device.set_by_hand(view.by_hand);
  device.set_works(std::string(WordOf(view.works)));
  device.set_sample_ms(view.times.sample * 1e3);
  device.set_train_ms(view.times.train * 1e3);
  device.set_standby_ms(view.times.standby * 1e3);
  device.set_sampled(view.sampled);
  device.set_trained(view.trained);
  device.set_wakes(view.wakes);
  device.set_busy(view.busy);
  return device;
}

// Returns the plan by its word; nullopt: "auto", which gives the device back to
// the plan.
absl::StatusOr<std::optional<DevicePlan>> ParsePlan(const std::string& role) {
  if (role == "auto") return std::nullopt;
  for (const DevicePlan plan : {DevicePlan::kSample, DevicePlan::kTrain}) {
    if (role == WordOf(plan)) return plan;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("role is '", role, "', must be sampler, trainer or auto"));
}

}  // namespace

absl::StatusOr<std::vector<v1::Device>> DeviceServiceAdapter::DevicesOf(
    const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(job_id));
  const JobProgress& progress = found.job.progress;
  std::vector<v1::Device> devices;
  for (const DeviceView& view : progress.devices) {
    devices.push_back(ToMessage(view, found.job.id));
  }
  if (!devices.empty()) return devices;
  for (const ExecutorView& executor : progress.executors) {
    const Device& on = executor.placement.device;
    if (!on.host.empty()) continue;  // DevicesOfMembers() has it.
    const bool is_there = std::any_of(
        devices.begin(), devices.end(),
        [&](const v1::Device& device) { return device.name() == on.name; });
    if (is_there || executor.job_id != found.job.id) continue;
    devices.push_back(ToMessage(on));
    devices.back().set_job_id(found.job.id);
    devices.back().set_plan("together");
  }
  return devices;
}

std::vector<v1::Device> DeviceServiceAdapter::DevicesOfMembers() const {
  std::vector<v1::Device> devices;
  if (members_ == nullptr) return devices;
  for (const MemberView& member : members_->Views()) {
    for (const Device& device : member.facts.devices) {
      v1::Device& far =
          devices.emplace_back(ToMessage(OfHost(device, member.facts.name)));
      far.set_job_id(member.job_id);
      if (member.is_lost) far.set_plan(std::string(WordOf(DevicePlan::kLost)));
    }
  }
  return devices;
}

void DeviceServiceAdapter::AddLinks(v1::ListDevicesResponse& response) const {
  if (members_ == nullptr) return;
  response.set_host(members_->head().name);
  for (const HostPair& pair : members_->pairs().All()) {
    v1::HostLink& link = *response.add_links();
    link.set_from(pair.from);
    link.set_to(pair.to);
    link.set_error(pair.error);
    link.set_round_trip_ms(pair.link.round_trip_seconds * 1e3);
    link.set_bytes_per_second(pair.link.bytes_per_second);
    link.set_clock_offset_ms(pair.link.clock_offset_seconds * 1e3);
  }
}

grpc::Status DeviceServiceAdapter::StreamedListDevices(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::ListDevicesRequest, v1::ListDevicesResponse>*
        stream) {
  return calls_.Read(context, stream, [&](const auto& call) -> absl::Status {
    std::vector<v1::Device> devices;
    for (const std::string& running : host_->RunningJobs()) {
      FGNN_ASSIGN_OR_RETURN(std::vector<v1::Device> more, DevicesOf(running));
      std::move(more.begin(), more.end(), std::back_inserter(devices));
    }
    for (const Device& own : devices_) {
      const bool is_there = std::any_of(
          devices.begin(), devices.end(),
          [&](const v1::Device& device) { return device.name() == own.name; });
      if (!is_there) devices.push_back(ToMessage(own));
    }
    for (v1::Device& far : DevicesOfMembers()) {
      devices.push_back(std::move(far));
    }
    for (v1::Device& device : devices) {
      *call.response.add_devices() = std::move(device);
    }
    AddLinks(call.response);
    return absl::OkStatus();
  });
}

grpc::Status DeviceServiceAdapter::StreamedSwitchDevice(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::SwitchDeviceRequest, v1::Device>* stream) {
  return calls_.Change(context, stream,
                       [&](const auto& call) { return Switch(call); });
}

absl::StatusOr<std::string> DeviceServiceAdapter::RunningJobOn(
    const std::string& device) {
  const std::vector<std::string> running = host_->RunningJobs();
  if (running.empty()) return absl::FailedPreconditionError("no job runs");
  // With a single job, the error that follows names its devices.
  if (running.size() == 1) return running.front();
  for (const std::string& job_id : running) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices,
                          DevicesOf(job_id));
    for (const v1::Device& other : devices) {
      if (other.name() == device) return job_id;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no job that runs has the device '", device,
                   "'; 'fgnn devices' lists those there are"));
}

absl::Status DeviceServiceAdapter::Switch(
    const UserCall<v1::SwitchDeviceRequest, v1::Device>& call) {
  const v1::SwitchDeviceRequest& request = call.request;
  v1::Device* const response = &call.response;
  FGNN_ASSIGN_OR_RETURN(const auto plan, ParsePlan(request.role()));
  // Jobs have normal names: "cpu:00" becomes "cpu:0".
  const absl::StatusOr<Device> parsed = ParseDeviceName(request.device());
  const std::string name = parsed.ok() ? parsed->name : request.device();
  std::string asked = request.job_id();
  if (asked.empty()) {
    FGNN_ASSIGN_OR_RETURN(asked, RunningJobOn(name));
  }
  FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                        table_->Get(asked, call.caller.name));
  FGNN_RETURN_IF_ERROR(CheckMayChange(call.caller, found.job));
  const std::string& job_id = found.job.id;
  FGNN_ASSIGN_OR_RETURN(const DevicePlan in_force,
                        host_->SwitchDevice(job_id, name, plan));
  if (parsed.ok()) *response = ToMessage(*parsed);
  response->set_job_id(job_id);
  FGNN_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices,
                        DevicesOf(job_id));
  for (const v1::Device& device : devices) {
    if (device.name() == name) *response = device;
  }
  // The view that the job's thread showed last may be older than the switch.
  response->set_by_hand(plan.has_value());
  response->set_plan(std::string(WordOf(in_force)));
  return absl::OkStatus();
}

}  // namespace fgnn
