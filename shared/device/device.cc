#include "shared/device/device.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "shared/base/enum_words.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostHostNameBytes = 63;

absl::Status BadName(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("device '", text, "' ", why,
                   "; write cpu: and cores, e.g. cpu:0, cpu:0-3 or cpu:0,2, or "
                   "cuda: and the number of a GPU, e.g. cuda:0"));
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

// Returns the cores of "0-3,5", rising. `text` is the device's name.
absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text,
                                            absl::string_view list) {
  std::vector<int> cores;
  for (const absl::string_view range : absl::StrSplit(list, ',')) {
    FGNN_RETURN_IF_ERROR(AppendRange(text, range, &cores));
  }
  std::sort(cores.begin(), cores.end());
  if (std::adjacent_find(cores.begin(), cores.end()) != cores.end()) {
    return BadName(text, "names a core twice");
  }
  return cores;
}

// Parses what follows "cuda:": "0", or "0+cpu:0-7".
absl::StatusOr<Device> ParseGpu(absl::string_view text,
                                absl::string_view after_kind) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(after_kind, absl::MaxSplits('+', 1));
  Device device;
  device.kind = DeviceKind::kCuda;
  if (!absl::SimpleAtoi(parts.first, &device.index) || device.index < 0) {
    return BadName(text, "does not name a GPU by its number");
  }
  if (device.index >= kMaxGpus) {
    return BadName(text, absl::StrCat("names a GPU above ", kMaxGpus - 1));
  }
  device.name = absl::StrCat("cuda:", device.index);
  if (parts.first.size() == after_kind.size()) return device;
  constexpr absl::string_view kCores = "cpu:";
  if (parts.second.substr(0, kCores.size()) != kCores) {
    return BadName(text, "has no cpu: and cores behind the +");
  }
  FGNN_ASSIGN_OR_RETURN(device.cores,
                        ParseCores(text, parts.second.substr(kCores.size())));
  absl::StrAppend(&device.name, "+", DeviceName(device.cores));
  return device;
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

constexpr EnumWord<DeviceKind> kKinds[] = {{DeviceKind::kCpu, "cpu"},
                                           {DeviceKind::kCuda, "cuda"}};

}  // namespace

std::string_view WordOf(DeviceKind kind) { return WordIn(kKinds, kind); }

ResourceSet ResourcesOf(const Device& device) {
  ResourceSet resources;
  for (const int core : device.cores) resources.set(static_cast<size_t>(core));
  if (device.kind == DeviceKind::kCuda) {
    resources.set(size_t{kMaxCores} + static_cast<size_t>(device.index));
  }
  return resources;
}

std::vector<std::string> NamesOf(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.name);
  return names;
}

bool ShareResources(const Device& a, const Device& b) {
  return a.host == b.host && (ResourcesOf(a) & ResourcesOf(b)).any();
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

absl::Status CheckHostName(std::string_view name) {
  const bool is_one =
      !name.empty() && name.size() <= kMostHostNameBytes &&
      absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
               c == '_' || c == '.';
      });
  if (is_one) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", std::string(name),
      "' is no name of a host; write 1 to 63 letters, digits, '-', '_' and "
      "'.', and begin with a letter or digit"));
}

Device OnItsHost(Device device) {
  if (device.host.empty()) return device;
  device.name.erase(0, device.host.size() + 1);
  device.host.clear();
  return device;
}

Device OfHost(Device device, const std::string& host) {
  device.name = absl::StrCat(host, "/", device.name);
  device.host = host;
  return device;
}

absl::StatusOr<Device> ParseDeviceName(std::string_view name) {
  const absl::string_view text(name.data(), name.size());
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) {
    if (!CheckHostName(name.substr(0, slash)).ok() ||
        name.find('/', slash + 1) != std::string_view::npos) {
      return BadName(text, "has no name of a host before its '/'");
    }
    const absl::StatusOr<Device> device =
        ParseDeviceName(name.substr(slash + 1));
    if (!device.ok()) return BadName(text, "names no device of that host");
    return OfHost(*device, std::string(name.substr(0, slash)));
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "cuda") return ParseGpu(text, parts.second);
  if (parts.first != "cpu" || parts.second.empty()) {
    return BadName(text, "is not known");
  }
  Device device;
  FGNN_ASSIGN_OR_RETURN(device.cores, ParseCores(text, parts.second));
  device.name = DeviceName(device.cores);
  return device;
}

absl::StatusOr<Device> OnThisMachine(Device device) {
  const std::vector<int> allowed = AllowedCores();
  for (const int core : device.cores) {
    if (!std::binary_search(allowed.begin(), allowed.end(), core)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device '", device.name, "': core ", core,
          " is not there or not allowed here; this process may use ",
          DeviceName(allowed)));
    }
  }
  if (device.cores.empty()) device.cores = allowed;
  return device;
}

absl::StatusOr<Device> ParseDevice(std::string_view text) {
  FGNN_ASSIGN_OR_RETURN(Device device, ParseDeviceName(text));
  return OnThisMachine(std::move(device));
}

absl::StatusOr<Device> ParseCpuDevice(std::string_view text) {
  FGNN_ASSIGN_OR_RETURN(Device device, ParseDevice(text));
  if (device.kind == DeviceKind::kCpu) return device;
  return absl::UnimplementedError(
      absl::StrCat("device '", device.name,
                   "': this part runs on cpu devices alone; use one, e.g. ",
                   AllCoresDevice()));
}

std::vector<Device> DevicesThatOnlySample(const std::vector<Device>& devices) {
  std::vector<Device> cores;
  for (const Device& device : devices) {
    if (device.kind == DeviceKind::kCpu) cores.push_back(device);
  }
  const bool has_gpu = cores.size() < devices.size();
  return has_gpu ? cores : std::vector<Device>();
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
