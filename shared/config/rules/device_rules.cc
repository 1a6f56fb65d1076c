#include "shared/config/rules/device_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/device_list.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// Least and most devices of a job.
struct DeviceCounts {
  uint32_t least = 0;
  uint32_t most = 0;
};
DeviceCounts CountDevices(const v1::JobSpec& spec) {
  if (spec.has_device_request()) {
    return {spec.device_request().min(), spec.device_request().max()};
  }
  const auto devices = static_cast<uint32_t>(spec.devices_size());
  return {devices, devices};
}

std::vector<Device> DevicesThatOnlySample(const v1::JobSpec& spec) {
  const absl::StatusOr<std::vector<Device>> devices =
      DevicesOfNames({spec.devices().begin(), spec.devices().end()});
  return devices.ok() ? fgnn::DevicesThatOnlySample(*devices)
                      : std::vector<Device>();
}

// Checks and completes a job of which some devices only sample. The others
// train: all at the same time, or as planned.
absl::Status CheckMixedExecutors(const std::vector<Device>& only_sample,
                                 v1::JobSpec* spec) {
  if (spec->executors() == "auto") spec->set_executors("together");
  if (spec->executors() == "time_sharing") {
    return absl::InvalidArgumentError(absl::StrCat(
        "executors is time_sharing, where every device trains, but ",
        only_sample.front().name,
        " only samples beside a GPU; leave executors out, or use factored or "
        "together"));
  }
  if (spec->executors() == "factored") {
    if (spec->samplers() == 0 || spec->samplers() >= only_sample.size()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "samplers is ", spec->samplers(), ", but the job has ",
        only_sample.size(), " devices that only sample beside a GPU; give ",
        only_sample.size(), " or more, or name fewer of these devices"));
  }
  if (spec->samplers() == 0) {
    spec->set_samplers(static_cast<uint32_t>(only_sample.size()));
  }
  if (spec->trainers() == 0) {
    spec->set_trainers(static_cast<uint32_t>(spec->devices_size()) -
                       static_cast<uint32_t>(only_sample.size()));
  }
  return absl::OkStatus();
}

// The scheduler checks whether the service has such devices.
absl::Status CheckDeviceRequest(v1::JobSpec* spec) {
  v1::DeviceRequest& request = *spec->mutable_device_request();
  if (!spec->devices().empty()) {
    return absl::InvalidArgumentError(
        "devices: names and a number are given; give one of them");
  }
  if (request.max() == 0) request.set_max(request.min());
  if (request.min() <= request.max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("devices.min is ", request.min(), ", but devices.max is ",
                   request.max(), "; give at most as many"));
}

}  // namespace

absl::Status CheckDevices(v1::JobSpec* spec) {
  if (spec->has_device_request()) return CheckDeviceRequest(spec);
  std::vector<Device> taken;
  for (std::string& name : *spec->mutable_devices()) {
    const absl::StatusOr<Device> device = ParseDeviceName(name);
    if (!device.ok()) return Annotate(device.status(), "devices");
    for (const Device& other : taken) {
      if (!ShareResources(other, *device)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "devices: ", other.name, " and ", device->name, " share ",
          NameFirst(ResourcesOf(other) & ResourcesOf(*device)),
          "; give each its own"));
    }
    taken.push_back(*device);
    name = device->name;
  }
  if (spec->devices().empty()) {
    return absl::InvalidArgumentError(
        "devices is empty; name at least one, e.g. [cpu:0]");
  }
  return absl::OkStatus();
}

absl::Status CheckExecutors(v1::JobSpec* spec) {
  const auto [devices, most_devices] = CountDevices(*spec);
  if (const auto cores = DevicesThatOnlySample(*spec); !cores.empty()) {
    FGNN_RETURN_IF_ERROR(CheckMixedExecutors(cores, spec));
  }
  if (spec->executors() == "auto") {
    spec->set_executors(most_devices == 1 || spec->trainers() > 0 ? "together"
                                                                  : "factored");
  }
  const std::string& executors = spec->executors();
  if (executors == "together") {
    if (!spec->switching()) {
      return absl::InvalidArgumentError(
          "switching is false, but with executors together samplers and "
          "trainers work at once; leave it out, or use factored");
    }
    if (spec->samplers() == 0) spec->set_samplers(1);
    if (spec->trainers() == 0) spec->set_trainers(1);
    return absl::OkStatus();
  }
  if (spec->trainers() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "trainers is ", spec->trainers(), ", but executors is ", executors,
        ", where each device has one; leave it out, or use together"));
  }
  constexpr uint32_t kMostDevices = 64;
  if (most_devices > kMostDevices) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job has ", most_devices, " devices, but executors is ", executors,
        ", where at most ", kMostDevices,
        " take turns; give devices more cores each, or use together"));
  }
  if (executors == "time_sharing") {
    if (spec->samplers() == 0 && spec->switching()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        spec->samplers() > 0 ? "samplers" : "switching",
        " is for factored, but executors is time_sharing, where every device "
        "samples and trains; leave it out"));
  }
  if (spec->samplers() > devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("samplers is ", spec->samplers(), ", but the job has ",
                     devices, devices == 1 ? " device; " : " devices; ",
                     "name more, or use executors: together"));
  }
  if (!spec->switching() && (devices == 1 || spec->samplers() == devices)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "switching is false, but with ", devices,
        devices == 1 ? " device" : " devices", " nobody is left to train; ",
        "leave it out, name more devices, or fewer samplers"));
  }
  return absl::OkStatus();
}

absl::Status CheckNccl(v1::JobSpec* spec) {
  constexpr char kWhat[] = "training.sync is nccl, which is for GPUs";
  if (spec->has_device_request()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kWhat,
                     ", but devices are asked for by number; name them, e.g. "
                     "devices: [cuda:0, cuda:1], or use sync: steps"));
  }
  uint32_t gpus = 0;
  for (const std::string& name : spec->devices()) {
    FGNN_ASSIGN_OR_RETURN(const Device device, ParseDeviceName(name));
    if (device.kind == DeviceKind::kCuda) ++gpus;
  }
  if (gpus < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        kWhat, ", but ",
        gpus == 0 ? absl::StrCat(spec->devices(0), " trains on cores")
                  : std::string("the job has one GPU"),
        "; name two or more GPUs, or use sync: steps"));
  }
  if (spec->executors() == "auto") spec->set_executors("together");
  if (spec->executors() != "together") {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.sync is nccl, whose trainers are the same all the time, but "
        "executors is ",
        spec->executors(),
        ", where devices switch between sampling and training; use together, "
        "with cores among the devices to sample, or sync: steps"));
  }
  if (spec->trainers() == 0) spec->set_trainers(gpus);
  if (spec->trainers() >= 2 && spec->trainers() <= gpus) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("trainers is ", spec->trainers(),
                   ", but training.sync is nccl and the "
                   "job has ",
                   gpus, " GPUs; give 2 to ", gpus,
                   " trainers, each of which has a GPU, or use sync: steps"));
}

uint32_t DevicesThatTrain(const v1::JobSpec& spec) {
  const uint32_t devices = CountDevices(spec).most;
  const auto only_sample =
      static_cast<uint32_t>(DevicesThatOnlySample(spec).size());
  const bool is_fixed = spec.executors() == "factored" && !spec.switching();
  return devices -
         (is_fixed ? std::max(spec.samplers(), only_sample) : only_sample);
}

}  // namespace fgnn
