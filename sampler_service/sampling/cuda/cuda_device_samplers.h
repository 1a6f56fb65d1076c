// The samplers of a GPU.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/device_samplers.h"
#include "shared/device/device.h"

namespace fgnn {

// Opens the GPU of a device of kind kCuda. The samplers of a job share its
// topology in device memory. Errors: see DeviceOpener. A factory's errors:
// ResourceExhausted, with the bytes that the job needs and that the GPU has
// free; and those of NewCudaSampler().
absl::StatusOr<std::unique_ptr<DeviceSamplers>> OpenCudaSamplers(
    const Device& device);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_DEVICE_SAMPLERS_H_
