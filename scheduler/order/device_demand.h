// The devices that a job asks for, and the service's resources that they use.
#ifndef FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_
#define FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/order/host_demand.h"
#include "scheduler/order/service_resources.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"

namespace fgnn {

// Devices that a job has or asks for. Two running jobs never have devices that
// share a resource.
struct DeviceSet {
  std::vector<Device> devices = {};
  ServiceResources resources = {};
};
// Of devices of other hosts, `hosts` have the resources.
DeviceSet MakeDeviceSet(std::vector<Device> devices,
                        const std::vector<ServiceHost>& hosts = {});

// A device of the service's own host.
struct ServiceDevice {
  Device device;
  ServiceResources resources = {};
};
// InvalidArgument: two devices share a resource.
absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<Device>& devices);

// The devices that a job asks for: either all devices in `named` and those on
// `hosts`, or `min` to `max` devices of the service and of `hosts`, one of them
// of the service's own host.
struct WantedDevices {
  // Devices of the service's own host that the job has to have; unused if by
  // number.
  DeviceSet named = {};
  WantedHosts hosts = {};
  std::string kind = "any";
  uint32_t min = 0;  // Least number of devices; 0: not by number.
  uint32_t max = 0;

  bool by_number() const { return min > 0; }
  // "any" gets cores: devices of a job by number have to train.
  bool fits(const Device& device) const {
    return WordOf(device.kind) ==
           (kind == "any" ? WordOf(DeviceKind::kCpu) : kind);
  }
};
// Returns the devices that an effective spec asks for; of a spec that asks for
// none, all of the service.
WantedDevices WantedBy(const JobSpec& spec,
                       const std::vector<ServiceDevice>& has);

// Returns what a job wants that is at work on these devices.
WantedDevices WantedAtWork(const std::vector<Device>& devices);

// Returns OK if the service could ever give the job these devices.
// Hosts may join later. InvalidArgument: it could not; the message has need and
// have.
absl::Status CheckCanHave(const WantedDevices& wanted,
                          const std::vector<ServiceDevice>& has);

// Returns OK if the hosts that are there now, or are awaited, have enough for
// the job. Unavailable: they have not; the message has need and have.
absl::Status CheckAreThere(const WantedDevices& wanted,
                           const std::vector<ServiceDevice>& has,
                           const std::vector<ServiceHost>& hosts);

// Returns the least that the job needs: "2 devices of kind cpu", "1 device".
std::string DescribeNumber(const WantedDevices& wanted);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_
