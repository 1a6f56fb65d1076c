#include "scheduler/order/device_demand.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"

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
    wanted.hosts = HostsWantedBy(spec, {});
    wanted.hosts.kind =
        wanted.kind == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu;
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

absl::Status CheckAreThere(const WantedDevices& wanted,
                           const std::vector<ServiceDevice>& has,
                           const std::vector<ServiceHost>& hosts) {
  FGNN_RETURN_IF_ERROR(CheckAreThere(wanted.hosts, hosts));
  if (!wanted.by_number()) return absl::OkStatus();
  const auto fits = [&](const Device& device) { return wanted.fits(device); };
  // Numbers of fitting devices on the other hosts.
  std::vector<size_t> on_hosts;
  std::vector<size_t> candidates = AwaitedOf(wanted.hosts, hosts);
  for (const size_t host : CandidatesOf(wanted.hosts, hosts)) {
    if (IsThere(wanted.hosts, hosts[host])) candidates.push_back(host);
  }
  for (const size_t host : candidates) {
    const std::vector<Device>& devices = hosts[host].devices;
    on_hosts.push_back(static_cast<size_t>(
        std::count_if(devices.begin(), devices.end(), fits)));
  }
  std::sort(on_hosts.begin(), on_hosts.end(), std::greater<>());
  on_hosts.resize(std::min<size_t>(on_hosts.size(), wanted.hosts.max - 1));
  auto may_have = static_cast<size_t>(std::count_if(
      has.begin(), has.end(),
      [&](const ServiceDevice& device) { return fits(device.device); }));
  for (const size_t devices : on_hosts) may_have += devices;
  if (may_have >= wanted.min) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "needs ", DescribeNumber(wanted), " of at most ", wanted.hosts.max,
      " hosts, ", may_have, may_have == 1 ? " is there" : " are there",
      "; start a scheduler with more elsewhere with --join"));
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
  std::vector<std::string> fitting;
  for (const ServiceDevice& of_service : has) {
    if (wanted.fits(of_service.device)) {
      fitting.push_back(of_service.device.name);
    }
  }
  // Hosts with the others may join later.
  const uint32_t needs = hosts.max > 1 ? 1 : wanted.min;
  if (fitting.size() >= needs) return absl::OkStatus();
  if (hosts.max > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devices: needs one of kind ",
        wanted.kind == "any" ? "cpu" : wanted.kind,
        " on the service's own host, which evaluates and writes checkpoints, "
        "but it has none; start it with --devices, or ask for another kind"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "devices: needs ", DescribeNumber(wanted), ", the service has ",
      fitting.size(), fitting.empty() ? "" : ": ", absl::StrJoin(fitting, " "),
      "; ask for fewer or start it with --devices"));
}

}  // namespace fgnn
