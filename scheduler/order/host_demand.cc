#include "scheduler/order/host_demand.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {
namespace {

bool HasKind(const std::vector<Device>& devices, DeviceKind kind) {
  return std::any_of(devices.begin(), devices.end(),
                     [kind](const Device& one) { return one.kind == kind; });
}

// Returns the names of the other hosts of these devices, each once.
std::vector<std::string> OtherHostsOf(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) {
    if (!device.host.empty() &&
        std::find(names.begin(), names.end(), device.host) == names.end()) {
      names.push_back(device.host);
    }
  }
  return names;
}

// Returns hosts.size() if no host has the name.
size_t IndexOf(const std::vector<ServiceHost>& hosts, const std::string& name) {
  const auto found =
      std::find_if(hosts.begin(), hosts.end(),
                   [&](const ServiceHost& host) { return host.name == name; });
  return static_cast<size_t>(found - hosts.begin());
}

}  // namespace

WantedHosts AnyHosts(uint32_t max, const std::vector<Device>& own_devices) {
  WantedHosts wanted = {.max = std::max(max, 1U)};
  if (HasKind(own_devices, DeviceKind::kCuda)) wanted.kind = DeviceKind::kCuda;
  return wanted;
}

WantedHosts HostsWantedBy(const JobSpec& spec,
                          const std::vector<Device>& own_devices) {
  WantedHosts wanted;
  for (const Device& device : spec.devices) {
    if (!device.host.empty()) wanted.named.push_back(device);
  }
  const auto places = std::max(spec.training.batches_per_step, 1U);
  if (!wanted.named.empty()) {
    const auto num_hosts = static_cast<uint32_t>(CountHosts(spec.devices));
    wanted.max =
        spec.hosts.max == 0 ? num_hosts : std::min(spec.hosts.max, num_hosts);
    wanted.min = spec.hosts.min == 0 ? wanted.max : spec.hosts.min;
  } else if (spec.devices.empty()) {
    // More hosts than batches of a step would have nothing to do.
    wanted = AnyHosts(std::min(spec.hosts.max, places), own_devices);
    wanted.min = std::clamp(spec.hosts.min, 1U, wanted.max);
  }
  wanted.wait_seconds = spec.limits.host_wait;
  return wanted;
}

WantedHosts AtWorkOn(const std::vector<Device>& devices) {
  WantedHosts wanted = {.is_at_work = true};
  for (const Device& device : devices) {
    if (!device.host.empty()) wanted.named.push_back(device);
  }
  wanted.min = wanted.max = static_cast<uint32_t>(CountHosts(devices));
  return wanted;
}

std::vector<size_t> CandidatesOf(const WantedHosts& wanted,
                                 const std::vector<ServiceHost>& hosts) {
  std::vector<size_t> candidates;
  if (wanted.max <= 1) return candidates;
  const size_t most = std::min<size_t>(hosts.size(), kMostHosts);
  const auto add = [&](size_t host) {
    const std::vector<std::string>& left_out = wanted.left_out;
    if (host < most && std::find(left_out.begin(), left_out.end(),
                                 hosts[host].name) == left_out.end()) {
      candidates.push_back(host);
    }
  };
  for (const std::string& name : OtherHostsOf(wanted.named)) {
    add(IndexOf(hosts, name));
  }
  if (!wanted.named.empty()) return candidates;
  for (size_t host = 0; host < most; ++host) {
    const std::vector<Device>& devices = hosts[host].devices;
    if (!devices.empty() &&
        (!wanted.kind.has_value() || HasKind(devices, *wanted.kind))) {
      add(host);
    }
  }
  return candidates;
}

bool IsThere(const WantedHosts& wanted, const ServiceHost& host) {
  return wanted.is_at_work || host.silent_seconds == 0;
}

std::vector<size_t> AwaitedOf(const WantedHosts& wanted,
                              const std::vector<ServiceHost>& hosts) {
  std::vector<size_t> awaited;
  size_t num_there = 1;  // The service's own host.
  for (const size_t candidate : CandidatesOf(wanted, hosts)) {
    const ServiceHost& host = hosts[candidate];
    if (IsThere(wanted, host)) {
      ++num_there;
    } else if (host.silent_seconds <= wanted.wait_seconds) {
      awaited.push_back(candidate);
    }
  }
  const size_t most = wanted.max > num_there ? wanted.max - num_there : 0;
  if (awaited.size() > most) awaited.resize(most);
  return awaited;
}

absl::Status CheckAreThere(const WantedHosts& wanted,
                           const std::vector<ServiceHost>& hosts) {
  const std::vector<size_t> candidates = CandidatesOf(wanted, hosts);
  const auto num_there =
      1 + std::count_if(candidates.begin(), candidates.end(), [&](size_t host) {
        return IsThere(wanted, hosts[host]);
      });
  // Without hosts that it needs, the job waits for longer.
  const size_t num_awaited =
      wanted.lacks.empty() ? AwaitedOf(wanted, hosts).size() : 0;
  const size_t may_have = static_cast<size_t>(num_there) + num_awaited;
  if (may_have >= wanted.min) return absl::OkStatus();
  std::vector<std::string> lacks;
  for (const std::string& name : OtherHostsOf(wanted.named)) {
    const size_t host = IndexOf(hosts, name);
    if (host == hosts.size() || !IsThere(wanted, hosts[host])) {
      lacks.push_back(name);
    }
  }
  return absl::UnavailableError(absl::StrCat(
      wanted.lacks, wanted.lacks.empty() ? "" : ": ", "needs ", wanted.min,
      " hosts, ", num_there, num_there == 1 ? " is there" : " are there",
      lacks.empty() ? ""
                    : absl::StrCat(", without ", absl::StrJoin(lacks, ", ")),
      "; start a scheduler there with --join"));
}

std::vector<Device> DevicesOn(const WantedHosts& wanted,
                              const ServiceHost& host) {
  std::vector<Device> devices;
  for (const Device& device : wanted.named) {
    if (device.host == host.name) devices.push_back(device);
  }
  if (!wanted.named.empty()) return devices;
  for (const Device& device : host.devices) {
    devices.push_back(OfHost(device, host.name));
  }
  return devices;
}

size_t CountHosts(const std::vector<Device>& devices) {
  const bool is_own =
      std::any_of(devices.begin(), devices.end(),
                  [](const Device& device) { return device.host.empty(); });
  return OtherHostsOf(devices).size() + (is_own ? 1 : 0);
}

ServiceResources FarResourcesOf(const std::vector<Device>& devices,
                                const std::vector<ServiceHost>& hosts) {
  ServiceResources resources;
  for (const std::string& name : OtherHostsOf(devices)) {
    resources.set(kExchangeResource);
    const size_t host = IndexOf(hosts, name);
    if (host < std::min<size_t>(hosts.size(), kMostHosts)) {
      resources.set(ResourceOfHost(host));
    }
  }
  return resources;
}

}  // namespace fgnn
