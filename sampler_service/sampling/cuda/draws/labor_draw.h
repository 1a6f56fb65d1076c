// LABOR on a device, by the law of sampling/cpu/labor_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_LABOR_DRAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_LABOR_DRAW_H_

#include <cuda_runtime_api.h>

#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

// Places the lists of a hop and draws its edges: the number of edges of a
// destination is known only once its dice are thrown. So they are thrown twice,
// to count edges and to write them. Four kernels.
cudaError_t LaunchLaborHop(const DeviceHop& hop, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_LABOR_DRAW_H_
