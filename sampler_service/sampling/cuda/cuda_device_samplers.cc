#include "sampler_service/sampling/cuda/cuda_device_samplers.h"

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sampler_service/sampling/cuda/cuda_sampler.h"
#include "sampler_service/sampling/cuda/device_graph.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/units.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/pinned_range.h"
#include "shared/device/cuda/status.h"
#include "shared/device/gpu_count.h"
#include "shared/measured/profiles.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// One sampler copies a task while another one samples.
constexpr uint32_t kSamplersPerGpu = 2;

// Returns total_bytes and free_bytes of GPU number `index`, and makes it that
// of the calling thread.
absl::StatusOr<GpuMemory> MemoryOf(int index, const std::string& what) {
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), what));
  size_t free = 0;
  size_t total = 0;
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total), what));
  return GpuMemory{.total_bytes = total, .free_bytes = free};
}

// The topology of one job on a GPU. Thread-safe.
class JobOnGpu {
 public:
  JobOnGpu(std::string name, int index, std::optional<TopologyPlace> place)
      : name_(std::move(name)), index_(index), wanted_(place) {}

  absl::StatusOr<std::unique_ptr<Sampler>> NewSampler(
      const SamplerInput& input, const SamplerOptions& options) {
    absl::StatusOr<std::shared_ptr<DeviceGraph>> graph = FindGraph(input);
    if (!graph.ok()) return WithSizes(graph.status(), input);
    auto sampler = NewCudaSampler(*std::move(graph), input, options);
    if (!sampler.ok()) return WithSizes(sampler.status(), input);
    return sampler;
  }

 private:
  absl::StatusOr<std::shared_ptr<DeviceGraph>> FindGraph(
      const SamplerInput& input) {
    const MutexLock lock(&mutex_);
    if (graph_ == nullptr) {
      FGNN_ASSIGN_OR_RETURN(graph_, MakeGraph(input));
    }
    return graph_;
  }

  // A topology that fits nowhere on the device is read from the host's memory.
  absl::StatusOr<std::shared_ptr<DeviceGraph>> MakeGraph(
      const SamplerInput& input) const {
    FGNN_ASSIGN_OR_RETURN(const GpuMemory memory, MemoryOf(index_, name_));
    const bool leaves_room =
        TopologyBytesOf(input) <= memory.free_bytes - memory.free_bytes / 4;
    const TopologyPlace place = wanted_.value_or(
        leaves_room ? TopologyPlace::kDevice : TopologyPlace::kHost);
    if (place == TopologyPlace::kDevice) {
      auto graph = DeviceGraph::Make(input.graph, index_, place);
      if (!absl::IsResourceExhausted(graph.status())) return graph;
    }
    LogInfo(
        "the topology, {}, stays in the host's memory: {} has {} of {} left",
        FormatBytes(TopologyBytesOf(input)), name_,
        FormatBytes(memory.free_bytes), FormatBytes(memory.total_bytes));
    return DeviceGraph::Make(input.graph, index_, TopologyPlace::kHost);
  }

  // Adds what the GPU has, and what the job needs, to an error for want of
  // memory, or of the right to register the host's.
  absl::Status WithSizes(const absl::Status& status,
                         const SamplerInput& input) const {
    if (!absl::IsResourceExhausted(status) && !absl::IsInternal(status)) {
      return status;
    }
    const absl::StatusOr<GpuMemory> memory = MemoryOf(index_, name_);
    if (!memory.ok()) return status;  // The device is lost.
    return absl::Status(
        status.code(),
        absl::StrCat(
            name_, " has ", FormatBytes(memory->free_bytes), " of ",
            FormatBytes(memory->total_bytes),
            " left, and a job's topology takes ",
            FormatBytes(TopologyBytesOf(input)),
            " there or in the host's memory: ", std::string(status.message()),
            "; sample on a cpu device, or end what else uses the "
            "GPU"));
  }

  const std::string name_;
  const int index_;
  const std::optional<TopologyPlace> wanted_;
  Mutex mutex_;
  std::shared_ptr<DeviceGraph> graph_ ABSL_GUARDED_BY(mutex_);
};

class RegisteredMemory final : public DirectMemory {
 public:
  explicit RegisteredMemory(PinnedRange range) : range_(std::move(range)) {}

 private:
  const PinnedRange range_;
};

class CudaDeviceSamplers final : public DeviceSamplers {
 public:
  CudaDeviceSamplers(std::string name, int index)
      : name_(std::move(name)), index_(index) {}

  uint32_t num_threads() const override { return kSamplersPerGpu; }
  SamplerFactory ForJob(std::optional<TopologyPlace> topology) override {
    return [job = std::make_shared<JobOnGpu>(name_, index_, topology)](
               const SamplerInput& input, const SamplerOptions& options) {
      return job->NewSampler(input, options);
    };
  }
  absl::StatusOr<std::optional<GpuMemory>> Memory() override {
    FGNN_ASSIGN_OR_RETURN(const GpuMemory memory, MemoryOf(index_, name_));
    return memory;
  }
  absl::StatusOr<std::unique_ptr<DirectMemory>> Open(
      absl::Span<std::byte> memory) override {
    FGNN_RETURN_IF_ERROR(
        CudaStatus(cudaSetDevice(index_), "choose the device"));
    FGNN_ASSIGN_OR_RETURN(
        PinnedRange range,
        PinnedRange::Make(memory.data(), memory.data() + memory.size(),
                          PinnedRange::Access::kReadWrite));
    return std::make_unique<RegisteredMemory>(std::move(range));
  }
  // After a fault in a kernel every call fails.
  absl::Status Check() override {
    return MemoryOf(index_, absl::StrCat(name_, " can no longer be used"))
        .status();
  }
  std::optional<uint64_t> gpu_bytes() const override {
    return DeviceBytesInArrays();
  }

 private:
  const std::string name_;
  const int index_;
};

absl::StatusOr<size_t> CountGpus() {
  int count = 0;
  const absl::Status counted =
      CudaStatus(cudaGetDeviceCount(&count), "CUDA finds no GPU");
  if (counted.ok()) return static_cast<size_t>(count);
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(counted.message()), "; install or update NVIDIA's driver"));
}

}  // namespace

absl::StatusOr<std::string> DescribeGpus() {
  FGNN_ASSIGN_OR_RETURN(const size_t count, CountGpus());
  std::vector<std::string> gpus;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    cudaDeviceProp properties;
    FGNN_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, i),
                                    absl::StrCat("ask for cuda:", i)));
    gpus.push_back(absl::StrCat("cuda:", i, " ", properties.name, ", ",
                                FormatBytes(properties.totalGlobalMem)));
  }
  return absl::StrJoin(gpus, "; ");
}

absl::StatusOr<std::unique_ptr<DeviceSamplers>> OpenCudaSamplers(
    const Device& device) {
  const std::string why = WhyGpuIsMissing(device.index, CountGpus());
  if (!why.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", device.name, ": ", why,
                     "; use another one, or a cpu "
                     "device"));
  }
  return std::make_unique<CudaDeviceSamplers>(device.name, device.index);
}

}  // namespace fgnn
