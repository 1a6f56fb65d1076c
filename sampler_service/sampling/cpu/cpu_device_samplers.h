// The samplers of a CPU device.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_DEVICE_SAMPLERS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_DEVICE_SAMPLERS_H_

#include <memory>

#include "sampler_service/sampling/device_samplers.h"
#include "shared/device/device.h"

namespace fgnn {

// Returns samplers for each core of the device; see NewCpuSampler().
std::unique_ptr<DeviceSamplers> OpenCpuSamplers(const Device& device);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_DEVICE_SAMPLERS_H_
