// Resources of a service that no two of its jobs have at once.
#ifndef FGNN_SCHEDULER_ORDER_SERVICE_RESOURCES_H_
#define FGNN_SCHEDULER_ORDER_SERVICE_RESOURCES_H_

#include <bitset>
#include <cstddef>

#include "shared/device/device.h"

namespace fgnn {

// Cores and GPUs of the service's own host, its exchange, and its other hosts.
// Each other host is one resource: one job at a time has it.
inline constexpr size_t kExchangeResource = ResourceSet().size();
using ServiceResources = std::bitset<kExchangeResource + 1 + kMostHosts>;

// Returns the resource of the host with this index, below kMostHosts, among the
// other hosts.
inline size_t ResourceOfHost(size_t host) {
  return kExchangeResource + 1 + host;
}

// Returns what a job needs that has devices of this host: the host and the
// exchange.
inline ServiceResources ResourcesOfHost(size_t host) {
  ServiceResources resources;
  return resources.set(kExchangeResource).set(ResourceOfHost(host));
}

// Calls `visit` with the number of each resource of the set.
template <typename Set, typename Visit>
void ForEachResource(const Set& resources, const Visit& visit) {
  for (size_t resource = resources._Find_first(); resource < resources.size();
       resource = resources._Find_next(resource)) {
    visit(resource);
  }
}

// Returns the resources of a device of the service's own host.
inline ServiceResources OwnResourcesOf(const Device& device) {
  ServiceResources resources;
  ForEachResource(ResourcesOf(device),
                  [&](size_t resource) { resources.set(resource); });
  return resources;
}

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_SERVICE_RESOURCES_H_
