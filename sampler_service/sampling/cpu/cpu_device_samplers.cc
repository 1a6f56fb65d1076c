#include "sampler_service/sampling/cpu/cpu_device_samplers.h"

#include <algorithm>

#include "sampler_service/sampling/cpu/cpu_sampler.h"

namespace fgnn {
namespace {

class CpuDeviceSamplers final : public DeviceSamplers {
 public:
  explicit CpuDeviceSamplers(uint32_t num_threads)
      : num_threads_(num_threads) {}

  uint32_t num_threads() const override { return num_threads_; }
  SamplerFactory ForJob(std::optional<TopologyPlace> /*topology*/) override {
    return NewCpuSampler;
  }
  absl::StatusOr<std::optional<GpuMemory>> Memory() override {
    return std::nullopt;
  }
  absl::StatusOr<std::unique_ptr<DirectMemory>> Open(
      absl::Span<std::byte> /*memory*/) override {
    return nullptr;
  }
  absl::Status Check() override { return absl::OkStatus(); }

 private:
  const uint32_t num_threads_;
};

}  // namespace

std::unique_ptr<DeviceSamplers> OpenCpuSamplers(const Device& device) {
  return std::make_unique<CpuDeviceSamplers>(
      static_cast<uint32_t>(std::max<size_t>(device.cores.size(), 1)));
}

}  // namespace fgnn
