#include "scheduler/order/by_number.h"

#include <algorithm>
#include <set>

namespace fgnn {
namespace {

// Returns the most devices that the job takes of its hosts up to this one, so
// that one is left for each host that it still needs.
size_t MostUpTo(size_t host, const WantedDevices& wanted) {
  const size_t hosts = host + 1;
  const size_t needs = wanted.hosts.min > hosts ? wanted.hosts.min - hosts : 0;
  return wanted.max > needs ? wanted.max - needs : 0;
}

bool IsEnough(const WantedDevices& wanted,
              const std::vector<FittingDevice>& fitting,
              const std::vector<size_t>& chosen) {
  std::set<size_t> hosts;
  for (const size_t one : chosen) hosts.insert(fitting[one].host);
  return chosen.size() >= wanted.min && hosts.contains(0) &&
         hosts.size() >= wanted.hosts.min;
}

}  // namespace

std::vector<FittingDevice> FittingDevices(const WantedDevices& wanted,
                                          const std::vector<ServiceDevice>& own,
                                          const std::vector<ServiceHost>& all,
                                          const std::vector<size_t>& hosts) {
  std::vector<FittingDevice> fitting;
  for (const ServiceDevice& device : own) {
    if (!wanted.fits(device.device)) continue;
    fitting.push_back({.device = device.device, .resources = device.resources});
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (const Device& device : DevicesOn(wanted.hosts, all[hosts[i]])) {
      if (!wanted.fits(device)) continue;
      fitting.push_back({.device = device,
                         .resources = ResourcesOfHost(hosts[i]),
                         .host = i + 1});
    }
  }
  return fitting;
}

std::vector<size_t> ChooseByNumber(
    const WantedDevices& wanted, const std::vector<FittingDevice>& fitting,
    absl::FunctionRef<Availability(const ServiceResources&)> look) {
  std::vector<size_t> chosen;
  std::vector<size_t> borrowed;
  for (size_t i = 0; i < fitting.size(); ++i) {
    const Availability is = look(fitting[i].resources);
    if (is == Availability::kBorrowed) borrowed.push_back(i);
    if (is != Availability::kFree) continue;
    // One may have to be borrowed of the service's own host.
    const bool has_own = !chosen.empty() && fitting[chosen.front()].host == 0;
    const size_t keeps = fitting[i].host > 0 && !has_own ? 1 : 0;
    if (chosen.size() + keeps < MostUpTo(fitting[i].host, wanted)) {
      chosen.push_back(i);
    }
  }
  for (const size_t one : borrowed) {
    if (IsEnough(wanted, fitting, chosen) || chosen.size() >= wanted.max) break;
    chosen.push_back(one);
  }
  if (!IsEnough(wanted, fitting, chosen)) chosen.clear();
  return chosen;
}

void PutNeededFirst(const WantedDevices& wanted,
                    const std::vector<FittingDevice>& fitting,
                    std::vector<size_t>& order) {
  std::set<size_t> hosts;
  std::stable_partition(order.begin(), order.end(), [&](size_t one) {
    const size_t host = fitting[one].host;
    const size_t others = hosts.size() - hosts.count(0);
    if (host > 0 && others + 1 >= wanted.hosts.min) return false;
    return hosts.insert(host).second;
  });
}

}  // namespace fgnn
