// Functions of DeviceHop for kernels.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.cuh"
#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

__device__ inline uint64_t FirstDestination(const DeviceHop& hop) {
  return hop.keeps_edges ? hop.before->num_known : 0;
}

// Returns true if there is nothing to draw: the hop has no edges, or more than
// there is room for.
__device__ inline bool HasNoEdges(const DeviceHop& hop) {
  return hop.list->begin == hop.list->end;
}

// Returns the destination in [first, end) that `edge` belongs to.
__device__ inline uint64_t DestinationOf(const DeviceHop& hop, uint64_t first,
                                         uint64_t end, uint32_t edge) {
  // indptr[low] <= edge < indptr[high]
  uint64_t low = first;
  uint64_t high = end;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (hop.indptr[middle] <= edge) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns the index at a place of the graph; negative ones are huge.
__device__ inline uint64_t IndexAt(const DeviceCsc& graph, uint64_t place) {
  if (graph.wide) {
    return static_cast<uint64_t>(
        __ldg(static_cast<const long long*>(graph.indices) + place));
  }
  return __ldg(static_cast<const uint32_t*>(graph.indices) + place);
}

// Returns the vertex of an index. An index that is no vertex is noted, and
// becomes vertex 0; the batch fails.
__device__ inline uint32_t CheckedVertex(const DeviceHop& hop, uint64_t index) {
  if (index < hop.graph.num_nodes) return static_cast<uint32_t>(index);
  atomicMax(reinterpret_cast<unsigned long long*>(&hop.list->largest_index),
            static_cast<unsigned long long>(index));
  return 0;
}

// Makes the neighbour at `place` of the graph the edge `edge` of the hop.
__device__ inline void PutEdge(const DeviceHop& hop, uint32_t edge,
                               uint64_t place) {
  const uint32_t u = CheckedVertex(hop, IndexAt(hop.graph, place));
  hop.edges[edge] = hop.enters ? EnterVertex(hop.map, u, edge) : u;
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_
