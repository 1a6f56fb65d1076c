#include "scheduler/order/device_demand.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {
namespace {

// Returns the devices of the service's own host.
std::vector<Device> OwnOf(const std::vector<Device>& devices) {
  std::vector<Device> own;
  for (const Device& device : devices) {
    if (device.host.empty()) own.push_back(device);
  }
  return own;
}

}  // namespace

DeviceSet MakeDeviceSet(std::vector<Device> devices,
                        const std::vector<ServiceHost>& hosts) {
  DeviceSet set = {.devices = std::move(devices)};
  set.resources = FarResourcesOf(set.devices, hosts);
  for (const Device& device : OwnOf(set.devices)) {
    set.resources |= OwnResourcesOf(device);
  }
  return set;
}

absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<Device>& devices) {
  std::vector<ServiceDevice> made;
  for (const Device& device : devices) {
    for (const ServiceDevice& other : made) {
      if (!ShareResources(other.device, device)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          other.device.name, " and ", device.name, " share ",
          NameFirst(ResourcesOf(other.device) & ResourcesOf(device)),
          "; give each device its own"));
    }
    made.push_back({device, OwnResourcesOf(device)});
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
  std::vector<Device> own = OwnOf(spec.devices);
  if (spec.devices.empty()) {
    for (const ServiceDevice& one : has) own.push_back(one.device);
  }
  wanted.hosts = HostsWantedBy(spec, own);
  wanted.named = MakeDeviceSet(std::move(own));
  return wanted;
}

WantedDevices WantedAtWork(const std::vector<Device>& devices) {
  return {.named = MakeDeviceSet(OwnOf(devices)), .hosts = AtWorkOn(devices)};
}

std::string DescribeNumber(const WantedDevices& wanted) {
  return absl::StrCat(
      wanted.min, wanted.min == 1 ? " device" : " devices",
      wanted.kind == "any" ? "" : absl::StrCat(" of kind ", wanted.kind));
}

absl::Status CheckCanHave(const WantedDevices& wanted,
                          const std::vector<ServiceDevice>& has) {
  const WantedHosts& hosts = wanted.hosts;
  if (const size_t named = CountHosts(hosts.named) + 1;
      !hosts.named.empty() && hosts.min > named) {
    return absl::InvalidArgumentError(
        absl::StrCat("hosts.min is ", hosts.min, ", but devices names ", named,
                     " hosts; name devices of more, or lower it"));
  }
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
