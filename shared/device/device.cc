#include "shared/device/device.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::Status BadName(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("device '", text, "' ", why,
                   "; write cpu: and cores, e.g. cpu:0, cpu:0-3 or cpu:0,2"));
}

// Appends the cores of "3" or "0-3".
absl::Status AppendRange(absl::string_view text, absl::string_view range,
                         std::vector<int>* cores) {
  const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
  int first = 0;
  int last = 0;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
      !absl::SimpleAtoi(ends.back(), &last)) {
    return BadName(text, "is not a list of cores");
  }
  if (first < 0 || last >= kMaxCores) {
    return BadName(text, absl::StrCat("names a core above ", kMaxCores - 1));
  }
  if (first > last) return BadName(text, "has a range that falls");
  for (int core = first; core <= last; ++core) cores->push_back(core);
  return absl::OkStatus();
}

// Returns the cores of this process's affinity mask, rising.
std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < kMaxCores; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::string_view WordOf(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      return "cuda";
  }
  return "unknown";
}

ResourceSet ResourcesOf(const Device& device) {
  ResourceSet resources;
  for (const int core : device.cores) resources.set(static_cast<size_t>(core));
  if (device.kind == DeviceKind::kCuda) {
    resources.set(size_t{kMaxCores} + static_cast<size_t>(device.index));
  }
  return resources;
}

std::string NameFirst(const ResourceSet& resources) {
  const size_t first = resources._Find_first();
  return first < kMaxCores ? absl::StrCat("core ", first)
                           : absl::StrCat("GPU ", first - kMaxCores);
}

std::string MemoryPlaceOf(const Device& device) {
  if (device.kind == DeviceKind::kCpu) return std::string(kHostMemory);
  return absl::StrCat("cuda:", device.index);
}

absl::StatusOr<Device> ParseDeviceName(std::string_view name) {
  const absl::string_view text(name.data(), name.size());
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "cuda" || parts.first == "gpu") {
    return absl::UnimplementedError(
        absl::StrCat("device '", text,
                     "': this build has no CUDA devices; use cpu:0 or another "
                     "list of cores"));
  }
  if (parts.first != "cpu" || parts.second.empty()) {
    return BadName(text, "is not known");
  }
  Device device;
  for (const absl::string_view range : absl::StrSplit(parts.second, ',')) {
    FGNN_RETURN_IF_ERROR(AppendRange(text, range, &device.cores));
  }
  std::sort(device.cores.begin(), device.cores.end());
  if (std::adjacent_find(device.cores.begin(), device.cores.end()) !=
      device.cores.end()) {
    return BadName(text, "names a core twice");
  }
  device.name = DeviceName(device.cores);
  return device;
}

absl::StatusOr<Device> ParseDevice(std::string_view text) {
  FGNN_ASSIGN_OR_RETURN(Device device, ParseDeviceName(text));
  const std::vector<int> allowed = AllowedCores();
  for (const int core : device.cores) {
    if (!std::binary_search(allowed.begin(), allowed.end(), core)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device '", device.name, "': core ", core,
          " is not there or not allowed here; this process may use ",
          DeviceName(allowed)));
    }
  }
  return device;
}

absl::StatusOr<std::vector<std::string>> DevicesOfFlag(
    const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<std::string>{AllCoresDevice()};
  std::vector<std::string> devices;
  for (const std::string& name : names) {
    const absl::StatusOr<Device> device = ParseDevice(name);
    FGNN_RETURN_IF_ERROR(Annotate(device.status(), "--devices"));
    devices.push_back(device->name);
  }
  return devices;
}

std::string DeviceName(const std::vector<int>& cores) {
  std::vector<std::string> ranges;
  for (size_t first = 0; first < cores.size();) {
    size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) {
      ++last;
    }
    ranges.push_back(first == last
                         ? absl::StrCat(cores[first])
                         : absl::StrCat(cores[first], "-", cores[last]));
    first = last + 1;
  }
  return absl::StrCat("cpu:", absl::StrJoin(ranges, ","));
}

std::string AllCoresDevice() {
  const std::vector<int> cores = AllowedCores();
  // If the mask cannot be read, the list has the core that runs this code.
  return cores.empty() ? "cpu:0" : DeviceName(cores);
}

absl::Status PinThisThread(const Device& device) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : device.cores) {
    if (core >= 0 && core < kMaxCores) CPU_SET(core, &set);
  }
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("pin to ", device.name));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
