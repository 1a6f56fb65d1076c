// The devices of a job that asks for a number of them. Pure.
#ifndef FGNN_SCHEDULER_ORDER_BY_NUMBER_H_
#define FGNN_SCHEDULER_ORDER_BY_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/order/host_demand.h"
#include "scheduler/order/service_resources.h"
#include "shared/device/device.h"

namespace fgnn {

// A device that a job by number may have.
struct FittingDevice {
  Device device;  // With the name of its host, if that is another one.
  ServiceResources resources = {};
  // Number of its host among those of the devices; 0: the service's own.
  size_t host = 0;
};

// Returns the devices that fit: those of the service's own host, then those of
// `hosts`, host by host.
std::vector<FittingDevice> FittingDevices(const WantedDevices& wanted,
                                          const std::vector<ServiceDevice>& own,
                                          const std::vector<ServiceHost>& all,
                                          const std::vector<size_t>& hosts);

// Whether a job may have a device.
enum class Availability : uint8_t { kTaken, kBorrowed, kFree };

// Returns the indices of devices for the job: free ones up to its most, in
// their order, and borrowed ones up to its least. One of them is the service's
// own, and they are of enough hosts. Empty: there are too few.
std::vector<size_t> ChooseByNumber(
    const WantedDevices& wanted, const std::vector<FittingDevice>& fitting,
    absl::FunctionRef<Availability(const ServiceResources&)> look);

// Moves devices to the front that no choice can do without: one of the
// service's own host, and one of each of as many other hosts as the job has at
// least. `order` has indices of `fitting`.
void PutNeededFirst(const WantedDevices& wanted,
                    const std::vector<FittingDevice>& fitting,
                    std::vector<size_t>& order);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_BY_NUMBER_H_
