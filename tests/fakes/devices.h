// Devices by their names, for tests.
#ifndef FGNN_TESTS_FAKES_DEVICES_H_
#define FGNN_TESTS_FAKES_DEVICES_H_

#include <string>
#include <string_view>
#include <vector>

#include "shared/device/device.h"

namespace fgnn {

inline Device Dev(std::string_view name) {
  return ParseDeviceName(name).value();
}

inline std::vector<Device> Devs(const std::vector<std::string>& names) {
  std::vector<Device> devices;
  for (const std::string& name : names) devices.push_back(Dev(name));
  return devices;
}

// Lets a matcher name a device.
inline bool operator==(const Device& device, std::string_view name) {
  return device.name == name;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_DEVICES_H_
