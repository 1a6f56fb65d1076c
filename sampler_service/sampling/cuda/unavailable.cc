// Builds without CUDA link this file in the place of the GPU's samplers.
#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cuda/cuda_device_samplers.h"

namespace fgnn {
namespace {

constexpr char kWayOut[] = "run 'tools/setup --cuda' and build again";

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceSamplers>> OpenCudaSamplers(
    const Device& device) {
  return absl::UnimplementedError(
      absl::StrCat("device ", device.name,
                   ": this build has no CUDA; use a cpu device, or ", kWayOut));
}

absl::StatusOr<std::string> DescribeGpus() {
  return absl::UnimplementedError(
      absl::StrCat("this build has no CUDA; to use GPUs, ", kWayOut));
}

}  // namespace fgnn
