#include "scheduler/order/device_demand.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::StatusOr<ResourceSet> ParseResources(const std::string& name) {
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseDeviceName(name));
  return ResourcesOf(device);
}

}  // namespace

DeviceDemand DemandOf(const JobSpec& spec) {
  if (!spec.device_request.has_value()) return {.names = spec.devices};
  return {.kind = spec.device_request->kind,
          .min = spec.device_request->min,
          .max = spec.device_request->max};
}

absl::StatusOr<DeviceSet> MakeDeviceSet(const std::vector<std::string>& names) {
  DeviceSet set;
  for (const std::string& name : names) {
    FGNN_ASSIGN_OR_RETURN(const ResourceSet resources, ParseResources(name));
    set.names.push_back(name);
    set.resources |= resources;
  }
  return set;
}

absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<Device>& devices) {
  std::vector<ServiceDevice> made;
  for (const Device& device : devices) {
    const ResourceSet resources = ResourcesOf(device);
    for (const ServiceDevice& other : made) {
      const ResourceSet shared = other.resources & resources;
      if (shared.none()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(other.name, " and ", device.name, " share ",
                       NameFirst(shared), "; give each device its own"));
    }
    made.push_back({device.name, std::string(WordOf(device.kind)), resources});
  }
  return made;
}

absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<std::string>& names) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    FGNN_ASSIGN_OR_RETURN(devices.emplace_back(), ParseDeviceName(name));
    devices.back().name = name;
  }
  return MakeServiceDevices(devices);
}

absl::StatusOr<WantedDevices> Resolve(const DeviceDemand& demand,
                                      const std::vector<ServiceDevice>& has) {
  WantedDevices wanted;
  if (demand.min > 0) {
    wanted.kind = demand.kind;
    wanted.min = demand.min;
    wanted.max = std::max(demand.min, demand.max);
    return wanted;
  }
  if (!demand.names.empty()) {
    FGNN_ASSIGN_OR_RETURN(wanted.named, MakeDeviceSet(demand.names));
    return wanted;
  }
  for (const ServiceDevice& device : has) {
    wanted.named.names.push_back(device.name);
    wanted.named.resources |= device.resources;
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
  for (const ServiceDevice& device : has) {
    if (wanted.fits(device)) fitting.push_back(device.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "devices: needs ", DescribeNumber(wanted), ", the service has ",
      fitting.size(), fitting.empty() ? "" : ": ", absl::StrJoin(fitting, " "),
      "; ask for fewer or start it with --devices"));
}

}  // namespace fgnn
