// Devices by name. A CPU device is a list of cores: "cpu:0", "cpu:0-3",
// "cpu:0,2-3".
#ifndef FGNN_SHARED_DEVICE_DEVICE_H_
#define FGNN_SHARED_DEVICE_DEVICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

struct Device {
  std::string name;        // Canonical: "cpu:0-1", "cpu:0,2".
  std::vector<int> cores;  // Rising, never empty.
};

// What the name says, without asking the machine. InvalidArgument naming the
// text; Unimplemented for "cuda:N", which this build has not.
absl::StatusOr<Device> ParseDeviceName(std::string_view text);

// The same, and every core is there and allowed to this process (its affinity
// mask). InvalidArgument names the cores that the machine has.
absl::StatusOr<Device> ParseDevice(std::string_view text);

// The canonical name of a list of cores.
std::string DeviceName(const std::vector<int>& cores);

// All cores that this process may use, as one device: "cpu:0-1".
std::string AllCoresDevice();

// Pins the calling thread, and every thread that it starts later, to the
// device's cores. A daemon calls it first in main.
absl::Status PinThisThread(const Device& device);

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_DEVICE_H_
