// Lists of devices as people and messages write them.
#ifndef FGNN_SHARED_CONFIG_DEVICE_LIST_H_
#define FGNN_SHARED_CONFIG_DEVICE_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/device/device.h"

namespace fgnn {

// Splits "cpu:0-1,cpu:2" into two names, and leaves "cpu:0,2-3" as one: a piece
// without a colon continues the list of cores before it.
std::vector<std::string> SplitDeviceList(std::string_view text);

// Returns the devices of these names. Errors: those of ParseDeviceName().
absl::StatusOr<std::vector<Device>> DevicesOfNames(
    const std::vector<std::string>& names);

// Returns the devices of a flag --devices, which are on this machine; of none:
// AllCoresDevice(). Errors: those of ParseDevice(), naming the flag.
absl::StatusOr<std::vector<Device>> DevicesOfFlag(
    const std::vector<std::string>& names);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_DEVICE_LIST_H_
