// Draws of uniform k-hop sampling on a device, by the law of
// sampling/cpu/uniform_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_UNIFORM_DRAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_UNIFORM_DRAW_H_

#include <cuda_runtime_api.h>

#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

// Draws the edges of a hop whose lists are placed (hop_lists.h). One kernel.
cudaError_t LaunchUniformDraw(const DeviceHop& hop, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_UNIFORM_DRAW_H_
