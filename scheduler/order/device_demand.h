// Which devices a job asks for, and which resources of the host they are.
#ifndef FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_
#define FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/device/device.h"

namespace fgnn {

// As a job's spec has it: devices by name, or a number of those that the
// service has. Neither: all that it has.
struct DeviceDemand {
  std::vector<std::string> names = {};  // "cpu:0-1"
  std::string kind = "any";             // Or "cpu".
  uint32_t min = 0;                     // 0: not by number.
  uint32_t max = 0;
};
// Given to jobs/ by rpc/, for spec_bytes of a job. DataLoss: they are no spec.
using DemandReader =
    std::function<absl::StatusOr<DeviceDemand>(const std::string& spec_bytes)>;

// Devices that a job has or asks for. Two jobs at once cannot have devices with
// a resource in common.
struct DeviceSet {
  std::vector<std::string> names = {};
  ResourceSet resources = {};  // Resources of all of them.
};
// InvalidArgument, Unimplemented: a name that is none, see ParseDeviceName().
absl::StatusOr<DeviceSet> MakeDeviceSet(const std::vector<std::string>& names);

struct ServiceDevice {
  std::string name;
  std::string kind;  // A word of DeviceKind, "cpu".
  ResourceSet resources;
};
// InvalidArgument: two of them share a resource.
absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<Device>& devices);
// InvalidArgument, Unimplemented: also a name that is none.
absl::StatusOr<std::vector<ServiceDevice>> MakeServiceDevices(
    const std::vector<std::string>& names);

// A demand with the resources of what it names.
struct WantedDevices {
  DeviceSet named = {};  // Of all of these, or
  std::string kind = "any";
  uint32_t min = 0;  // of `min` to `max` devices of the service.
  uint32_t max = 0;

  bool by_number() const { return min > 0; }
  bool fits(const ServiceDevice& device) const {
    return kind == "any" || kind == device.kind;
  }
};
absl::StatusOr<WantedDevices> Resolve(const DeviceDemand& demand,
                                      const std::vector<ServiceDevice>& has);

// Whether the service could ever give it. InvalidArgument: need and have.
absl::Status CheckCanHave(const WantedDevices& wanted,
                          const std::vector<ServiceDevice>& has);

// What it needs at least: "2 devices of kind cpu", "1 device".
std::string DescribeNumber(const WantedDevices& wanted);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_DEVICE_DEMAND_H_
