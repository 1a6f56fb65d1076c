// Edges that are drawn and then left out of a hop. The draws of such a hop
// write global ids into an array of its own; dropped edges get a mark, and the
// others move together into the hop's edges, in their order.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DROP_EDGES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DROP_EDGES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

// The training edges of a batch, which its hops leave out in both directions:
// a hash set of (end, partner) with open addressing.
//   entry: local id of the end u32 | global id of the partner u32
struct DeviceSeedEdges {
  uint64_t* table;  // [num_entries], a power of two, at least 4 * num_edges.
  uint64_t num_entries;
  const DeviceList* seeds;   // List of the seeds.
  const uint32_t* seed_ids;  // [2 * num_edges], mapped ids of the ends.
  uint32_t num_edges;        // Training edges of the batch.
};

// Fills the set with the batch's edges, once its seeds are numbered.
cudaError_t LaunchEnterSeedEdges(const DeviceIdMap& map,
                                 const DeviceSeedEdges& edges,
                                 uint32_t num_blocks, cudaStream_t stream);

struct DropArgs {
  DeviceHop hop;          // hop.edges has the drawn ids in [begin, end).
  uint32_t* left;         // [hop.max_edges]: the edges that are left.
  uint32_t* left_bits;    // [ceil(max_edges / 32) + 1], scratch.
  uint32_t* left_before;  // [ceil(max_edges / 32) + 1], scratch.
  // Weights of the drawn edges and of those that are left; null: none.
  const float* drawn_weights;
  float* left_weights;
};

// Marks the drawn edges that are in the set.
cudaError_t LaunchDropSeedEdges(const DeviceHop& hop,
                                const DeviceSeedEdges& edges,
                                cudaStream_t stream);

// Moves the edges without a mark together; `indptr` and the list's end follow.
// Four kernels.
cudaError_t LaunchMoveTogether(const DropArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DROP_EDGES_H_
