// Functions of DeviceHop for kernels.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.cuh"
#include "sampler_service/sampling/cuda/device_hop.h"

namespace fgnn {

// What stands in the place of a drawn edge that is dropped (drop_edges.h). No
// vertex has this id.
inline constexpr uint32_t kDroppedEdge = 0xffffffffu;

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

// Reads the list of vertex v. One that contradicts its neighbours is noted and
// read as empty; the batch fails.
__device__ inline DeviceAdjacency ReadAdjacency(const DeviceHop& hop,
                                                uint64_t v) {
  const int64_t begin =
      __ldg(reinterpret_cast<const long long*>(hop.graph.indptr) + v);
  const int64_t end =
      __ldg(reinterpret_cast<const long long*>(hop.graph.indptr) + v + 1);
  if (begin < 0 || end < begin ||
      static_cast<uint64_t>(end) > hop.graph.num_edges) {
    __nv_atomic_store_n(&hop.list->indptr_falls, uint64_t{1},
                        __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    return {0, 0};
  }
  return {begin, static_cast<uint64_t>(end - begin)};
}

// Makes vertex u the edge `edge` of the hop.
__device__ inline void PutVertex(const DeviceHop& hop, uint32_t edge,
                                 uint32_t u) {
  hop.edges[edge] = hop.enters ? EnterVertex(hop.map, u, edge) : u;
}

// Makes the vertex of an index the edge `edge` of the hop.
__device__ inline void PutIndex(const DeviceHop& hop, uint32_t edge,
                                uint64_t index) {
  PutVertex(hop, edge, CheckedVertex(hop, index));
}

// Makes the neighbour at `place` of the graph the edge `edge` of the hop.
__device__ inline void PutEdge(const DeviceHop& hop, uint32_t edge,
                               uint64_t place) {
  PutIndex(hop, edge, IndexAt(hop.graph, place));
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_CUH_
