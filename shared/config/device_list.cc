#include "shared/config/device_list.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"

namespace fgnn {

std::vector<std::string> SplitDeviceList(std::string_view text) {
  std::vector<std::string> devices;
  const std::vector<std::string> pieces =
      absl::StrSplit(std::string(text), ',', absl::SkipWhitespace());
  for (const std::string& piece : pieces) {
    if (piece.find(':') == std::string::npos && !devices.empty()) {
      absl::StrAppend(&devices.back(), ",", piece);
    } else {
      devices.push_back(piece);
    }
  }
  return devices;
}

absl::StatusOr<std::vector<Device>> DevicesOfNames(
    const std::vector<std::string>& names) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    FGNN_ASSIGN_OR_RETURN(devices.emplace_back(), ParseDeviceName(name));
  }
  return devices;
}

absl::StatusOr<std::vector<Device>> DevicesOfFlag(
    const std::vector<std::string>& names) {
  absl::StatusOr<std::vector<Device>> devices = DevicesOfNames(
      names.empty() ? std::vector<std::string>{AllCoresDevice()} : names);
  FGNN_RETURN_IF_ERROR(Annotate(devices.status(), "--devices"));
  for (const Device& device : *devices) {
    FGNN_RETURN_IF_ERROR(Annotate(OnThisMachine(device).status(), "--devices"));
  }
  return devices;
}

}  // namespace fgnn
