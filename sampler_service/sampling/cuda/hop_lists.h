// The adjacency lists of a hop's destinations, and where the edges of each
// destination stand.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_HOP_LISTS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_HOP_LISTS_H_

#include <cuda_runtime_api.h>

#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

// Reads the lists of the vertices that the hop before has added. Writes
// `indptr` of the destinations, and the list but for its vertices. A
// destination of in-degree d has room for
//   min(d, fanout) edges  without replacement,
//   fanout edges          with replacement, none if d = 0,
//   d edges               if the fanout is -1.
// Two kernels.
cudaError_t LaunchHopLists(const DeviceHop& hop, cudaStream_t stream);

// The same for lists that are read already, and destinations whose number of
// edges stands in `indptr`.
cudaError_t LaunchCountedLists(const DeviceHop& hop, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_HOP_LISTS_H_
