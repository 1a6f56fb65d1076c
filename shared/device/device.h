// Devices, their names, and the resources that two of them cannot use at once.
// A CPU device is a list of cores: "cpu:0", "cpu:0-3", "cpu:0,2-3". A CUDA
// device is a GPU: "cuda:0". Its threads on the host may use any core, or those
// that are named: "cuda:0+cpu:0-3". A device of another host has the host's
// name before it: "host1/cpu:0-3".
#ifndef FGNN_SHARED_DEVICE_DEVICE_H_
#define FGNN_SHARED_DEVICE_DEVICE_H_

#include <sched.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

inline constexpr int kMaxCores = CPU_SETSIZE;  // Most cores of a host.
inline constexpr int kMaxGpus = 64;            // Most GPUs of a host.
inline constexpr uint32_t kMostHosts = 64;     // Most hosts of a job.

enum class DeviceKind : uint8_t { kCpu, kCuda };
// "cpu", "cuda".
std::string_view WordOf(DeviceKind kind);

struct Device {
  // Canonical: "cpu:0-1", "cpu:0,2", "cuda:0+cpu:0-3", "host1/cuda:0". No two
  // devices of a service have the same one.
  std::string name = {};
  // Cores of the host for its threads; rising. Of a GPU, empty: any core.
  std::vector<int> cores = {};
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // Number of the GPU, below kMaxGpus; 0 for a CPU device.
  // Name of the host that has it; empty: the host of the service, whose name is
  // not printed.
  std::string host = {};

  friend bool operator==(const Device& a, const Device& b) {
    return a.name == b.name;
  }
};
std::vector<std::string> NamesOf(const std::vector<Device>& devices);

// Cores and GPUs of one host. Two devices that share a resource cannot work for
// two jobs at once.
using ResourceSet = std::bitset<size_t{kMaxCores} + kMaxGpus>;
ResourceSet ResourcesOf(const Device& device);
// Returns the name of the first resource of a set that is not empty: "core 3",
// "GPU 0".
std::string NameFirst(const ResourceSet& resources);
// Returns whether two devices share a resource.
bool ShareResources(const Device& a, const Device& b);

// The host's memory, as a place in a plan of memory.
inline constexpr std::string_view kHostMemory = "host";
// Returns the place of the memory that a device works in: kHostMemory, or
// "cuda:0".
std::string MemoryPlaceOf(const Device& device);

// InvalidArgument: no host may have this name. A host's name is 1 to 63
// letters, digits, '-', '_' and '.', and begins with a letter or digit.
absl::Status CheckHostName(std::string_view name);

// Returns the device of this name, without asking a machine. InvalidArgument
// names the text.
absl::StatusOr<Device> ParseDeviceName(std::string_view text);

// Returns the device as its own host names it: without the host's name.
Device OnItsHost(Device device);
// Returns the device of this host as another host names it.
Device OfHost(Device device, const std::string& host);

// Returns the device if every core exists and is allowed to this process (its
// affinity mask). InvalidArgument names the cores that the machine has. A GPU
// without cores gets all that this process may use. Whether the GPU is there is
// known to programs with CUDA alone.
absl::StatusOr<Device> OnThisMachine(Device device);

// Does what ParseDeviceName() and OnThisMachine() do.
absl::StatusOr<Device> ParseDevice(std::string_view text);

// As ParseDevice(), for what runs on CPU devices alone. Unimplemented: the
// device is of another kind.
absl::StatusOr<Device> ParseCpuDevice(std::string_view text);

// Returns those of a job's devices on which only samplers run: cores, if the
// job has a GPU. All trainers of a job are on devices of one kind.
std::vector<Device> DevicesThatOnlySample(const std::vector<Device>& devices);

// Returns the canonical name of a list of cores.
std::string DeviceName(const std::vector<int>& cores);

// Returns all cores that this process may use, as one device: "cpu:0-1".
std::string AllCoresDevice();

// Pins the calling thread, and every thread that it starts later, to the
// device's cores. A daemon calls it first in main.
absl::Status PinThisThread(const Device& device);

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_DEVICE_H_
