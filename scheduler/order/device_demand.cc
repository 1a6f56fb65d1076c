#include "scheduler/order/device_demand.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {

DeviceSet MakeDeviceSet(std::vector<Device> devices) {
  DeviceSet set = {.devices = std::move(devices)};
  for (const Device& device : set.devices) {
    if (device.host.empty()) set.resources |= ResourcesOf(device);
  }
  return set;
}

absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<Device>& devices) {
  std::vector<ServiceDevice> made;
  for (const Device& device : devices) {
    const ResourceSet resources = ResourcesOf(device);
    for (const ServiceDevice& other : made) {
      if (!ShareResources(other.device, device)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(other.device.name, " and ", device.name, " share ",
                       NameFirst(other.resources & resources),
                       "; give each device its own"));
    }
    made.push_back({device, resources});
  }
  return made;
}

WantedDevices WantedBy(const JobSpec& spec,
                       const std::vector<ServiceDevice>& has) {
  WantedDevices wanted;
  if (spec.device_request.has_value() && spec.device_request->min > 0) {
    wanted.kind = spec.device_request->kind;
    wanted.min = spec.device_request->min;
    wanted.max = std::max(wanted.min, spec.device_request->max);
    return wanted;
  }
  if (!spec.devices.empty()) {
    wanted.named = MakeDeviceSet(spec.devices);
    return wanted;
  }
  for (const ServiceDevice& of_service : has) {
    wanted.named.devices.push_back(of_service.device);
    wanted.named.resources |= of_service.resources;
  }
  return wanted;
}

std::string DescribeNumber(const WantedDevices& wanted) {
  return absl::StrCat(
      wanted.min, wanted.min == 1 ? " device" : " devices",
      wanted.kind == "any" ? "" : absl::StrCat(" of kind ", wanted.kind));
}

absl::Status CheckCanHave(const WantedDevices& wanted,
                          const std::vector<ServiceDevice>& has) {
  if (!wanted.by_number()) return absl::OkStatus();
  const auto num_fitting = std::count_if(
      has.begin(), has.end(),
      [&](const ServiceDevice& device) { return wanted.fits(device); });
  if (wanted.min <= static_cast<size_t>(num_fitting)) return absl::OkStatus();
  std::vector<std::string> fitting;
  for (const ServiceDevice& of_service : has) {
    if (wanted.fits(of_service)) fitting.push_back(of_service.device.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "devices: needs ", DescribeNumber(wanted), ", the service has ",
      fitting.size(), fitting.empty() ? "" : ": ", absl::StrJoin(fitting, " "),
      "; ask for fewer or start it with --devices"));
}

}  // namespace fgnn
