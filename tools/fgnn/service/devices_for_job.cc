#include "tools/fgnn/service/devices_for_job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

absl::StatusOr<std::vector<std::string>> Parts(
    const v1::DeviceRequest& request) {
  FGNN_ASSIGN_OR_RETURN(const Device all, ParseDevice(AllCoresDevice()));
  const size_t min = request.has_min() ? request.min() : 1;
  const size_t num_parts =
      std::min(std::max<size_t>(min, request.max()), all.cores.size());
  if (min > num_parts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devices: needs ", min, ", this machine has ", num_parts,
        num_parts == 1 ? " core: " : " cores: ", all.name, "; ask for fewer"));
  }
  std::vector<std::string> devices;
  for (size_t i = 0; i < num_parts; ++i) {
    const auto bound = [&](size_t part) {
      return all.cores.begin() +
             static_cast<ptrdiff_t>(part * all.cores.size() / num_parts);
    };
    devices.push_back(DeviceName({bound(i), bound(i + 1)}));
  }
  return devices;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DevicesForJob(
    const v1::JobSpec& spec) {
  if (spec.has_device_request()) return Parts(spec.device_request());
  std::vector<std::string> devices;
  for (const std::string& name : spec.devices()) {
    const absl::StatusOr<Device> device = ParseDevice(name);
    if (!device.ok()) return Annotate(device.status(), "devices");
    devices.push_back(device->name);
  }
  if (devices.empty()) devices.push_back(AllCoresDevice());
  return devices;
}

}  // namespace fgnn
