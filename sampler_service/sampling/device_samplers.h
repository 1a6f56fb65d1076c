// The samplers of one device, whatever kind it is of.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_DEVICE_SAMPLERS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_DEVICE_SAMPLERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/device/device.h"
#include "shared/measured/profiles.h"

namespace fgnn {

// Where the samplers of a GPU read the topology.
enum class TopologyPlace : uint8_t {
  kDevice,  // A copy in device memory.
  // The host's own arrays, registered with CUDA: for graphs that are larger
  // than device memory. Reads cross the bus.
  kHost,
};

// Memory that samplers write to directly. Given back by the destructor, before
// the memory is unmapped.
class DirectMemory {
 public:
  virtual ~DirectMemory() = default;
};

// Thread-safe.
class DeviceSamplers {
 public:
  virtual ~DeviceSamplers() = default;

  // Returns the number of threads, each with a sampler, that keep the device at
  // work; at least 1.
  virtual uint32_t num_threads() const = 0;

  // Returns a factory for the samplers of one job, for any thread. They share
  // what the first of them puts on the device; it is freed with the factory and
  // its copies. The job's input outlives them. `topology` is where a GPU has
  // the topology; nullopt: on the device, if that leaves a quarter of its free
  // memory. Where the device has no memory for it, it is on the host anyway.
  virtual SamplerFactory ForJob(std::optional<TopologyPlace> topology) = 0;
  SamplerFactory ForJob() { return ForJob(std::nullopt); }

  // Returns the total and the free bytes of the GPU's memory; nullopt: the
  // device is cores. Internal: see Check().
  virtual absl::StatusOr<std::optional<GpuMemory>> Memory() = 0;

  // Lets samplers write to this memory directly, where the device has to be
  // told. Returns nullptr if they need no such permission.
  virtual absl::StatusOr<std::unique_ptr<DirectMemory>> Open(
      absl::Span<std::byte> memory) = 0;

  // Internal: the device has met an error after which this process cannot use
  // it. Another process can.
  virtual absl::Status Check() = 0;

  // Returns the bytes of the GPU's memory that this process has; nullopt: the
  // device is no GPU.
  virtual std::optional<uint64_t> gpu_bytes() const { return std::nullopt; }
};

// Opens the samplers of a device. The thread is pinned to the device's cores.
// Unimplemented: this build has no such devices. InvalidArgument: the machine
// does not have the device. Both name the device and the way out.
using DeviceOpener =
    std::function<absl::StatusOr<std::unique_ptr<DeviceSamplers>>(
        const Device& device)>;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_DEVICE_SAMPLERS_H_
