// Neighbours by random walks on a device, by the law of
// sampling/cpu/walk_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WALK_DRAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WALK_DRAW_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

struct DeviceWalks {
  uint32_t num_walks;
  uint32_t length;     // num_walks * length is at most 4096.
  uint64_t end_limit;  // WalkEndLimit()
  float* visits;       // [hop.max_edges]: visits of the drawn vertices.
};

// Draws the edges of a hop whose lists are placed with replacement: each
// destination has room for `fanout` edges, and marks what it does not need as
// dropped (drop_edges.h). One kernel.
cudaError_t LaunchWalkDraw(const DeviceHop& hop, const DeviceWalks& walks,
                           cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DRAWS_WALK_DRAW_H_
