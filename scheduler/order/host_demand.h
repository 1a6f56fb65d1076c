// The hosts that a job asks for, beside the service's own one.
#ifndef FGNN_SCHEDULER_ORDER_HOST_DEMAND_H_
#define FGNN_SCHEDULER_ORDER_HOST_DEMAND_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/order/service_resources.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"

namespace fgnn {

// Silence, in seconds, of a host that has left, or has never joined.
inline constexpr double kHasLeft = std::numeric_limits<double>::infinity();

// A host that has joined the service, or that a job names.
struct ServiceHost {
  std::string name;
  std::vector<Device> devices = {};  // Devices by the host's own names.
  // Seconds since it was heard last, if it counts as lost; 0: it is there.
  double silent_seconds = 0;
};

// The hosts of a job that may have several.
struct WantedHosts {
  // Devices of other hosts that the job names. Empty: it may have any hosts,
  // each with all its devices.
  std::vector<Device> named = {};
  // Names of hosts that could not take part; the job goes on without them.
  std::vector<std::string> left_out = {};
  uint32_t min = 1;  // Least number of hosts, the service's own one counted.
  // Why `min` is more than the job asks for; empty: it is not.
  std::string lacks = {};
  uint32_t max = 1;
  // Kind of device that a host has to have; nullopt: any will do. Used if none
  // is named.
  std::optional<DeviceKind> kind = std::nullopt;
  // Seconds for which the job waits for a lost host, before it starts without.
  double wait_seconds = 0;
  // Whether the job is at work on its hosts already, so that they need not be
  // there: their own schedulers may join later.
  bool is_at_work = false;
};

// Returns the hosts that an effective spec asks for; `own_devices` are those
// that it has, or may have, on the service's own host. A spec of one host: max
// is 1.
WantedHosts HostsWantedBy(const JobSpec& spec,
                          const std::vector<Device>& own_devices);
// Returns what a job asks for that takes any hosts, `max` with the service's
// own one, which has these devices. If one is a GPU, each host has to have one.
WantedHosts AnyHosts(uint32_t max, const std::vector<Device>& own_devices);
// Returns what a job asks for that is at work on these devices.
WantedHosts AtWorkOn(const std::vector<Device>& devices);

// Returns the indices of the hosts that would do, in the order in which the job
// takes them, lost ones among them.
std::vector<size_t> CandidatesOf(const WantedHosts& wanted,
                                 const std::vector<ServiceHost>& hosts);
// Returns whether the job may have this host now, as far as that is there.
bool IsThere(const WantedHosts& wanted, const ServiceHost& host);
// Returns the indices of lost hosts that the job waits for; with them it would
// have at most `max` hosts.
std::vector<size_t> AwaitedOf(const WantedHosts& wanted,
                              const std::vector<ServiceHost>& hosts);
// Returns OK if enough hosts are there or awaited. Unavailable: the message
// names those that are not.
absl::Status CheckAreThere(const WantedHosts& wanted,
                           const std::vector<ServiceHost>& hosts);

// Returns the devices that the job gets on this host, with the host's name.
std::vector<Device> DevicesOn(const WantedHosts& wanted,
                              const ServiceHost& host);
// Returns the number of hosts of these devices.
size_t CountHosts(const std::vector<Device>& devices);
// Returns the other hosts and the exchange that these devices need.
ServiceResources FarResourcesOf(const std::vector<Device>& devices,
                                const std::vector<ServiceHost>& hosts);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_HOST_DEMAND_H_
