// Draws by edge weights on a device, by the law of
// sampling/cpu/weighted_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WEIGHTED_DRAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WEIGHTED_DRAW_H_

#include <cuda_runtime_api.h>

#include "sampler_service/sampling/cuda/device_hop.h"
#include "sampler_service/sampling/cuda/device_weights.h"

namespace fgnn {

// Draws the edges of a hop whose lists are placed (hop_lists.h). Where a place
// of weight 0 leaves room, the room is marked as dropped (drop_edges.h).
// Without replacement the fanout is at most kMaxWarpFanout. One kernel.
cudaError_t LaunchWeightedDraw(const DeviceHop& hop,
                               const DeviceWeights& weights,
                               cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WEIGHTED_DRAW_H_
