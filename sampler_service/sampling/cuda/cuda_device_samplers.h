// The samplers of a GPU.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/device_samplers.h"
#include "shared/device/device.h"

namespace fgnn {

// Opens the GPU of a device of kind kCuda. The samplers of a job share its
// topology. Errors: see DeviceOpener. A factory's errors: ResourceExhausted,
// with the bytes that the job needs and that the GPU has free; Internal, with
// them: the topology fits nowhere but into the host's memory, which the GPU
// cannot read; and those of NewCudaSampler().
absl::StatusOr<std::unique_ptr<DeviceSamplers>> OpenCudaSamplers(
    const Device& device);

// Returns the GPUs of this machine in one line, for people: "cuda:0 NVIDIA
// H100, 80.0 GiB". Unimplemented: this build has no CUDA. InvalidArgument:
// there is no driver, or no GPU. Both name the way out.
absl::StatusOr<std::string> DescribeGpus();

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_
