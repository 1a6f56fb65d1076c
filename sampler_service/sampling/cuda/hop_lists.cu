#include "sampler_service/id_map/cuda/block_scan.cuh"
#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/hop_lists.h"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Reads a list of the graph. One that contradicts its neighbours is noted and
// read as empty; the batch fails.
__device__ inline DeviceAdjacency ReadAdjacency(const DeviceHop& hop,
                                                uint64_t local) {
  const uint64_t v = hop.map.nodes[local];
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

__device__ inline uint64_t EdgesOf(const DeviceHop& hop, uint64_t degree) {
  if (hop.fanout < 0) return degree;
  const uint64_t fanout = static_cast<uint64_t>(hop.fanout);
  if (hop.replace) return degree == 0 ? 0 : fanout;
  return min(degree, fanout);
}

__global__ void __launch_bounds__(kThreads) CountEdgesKernel(DeviceHop hop) {
  const uint64_t num_known = hop.before->num_known;
  const BlockPart part =
      PartOfBlock(FirstDestination(hop), hop.before->num_nodes, kThreads);
  uint64_t count = 0;
  for (uint64_t i = part.begin + threadIdx.x; i < part.end; i += kThreads) {
    if (i >= num_known) hop.adjacency[i] = ReadAdjacency(hop, i);
    count += EdgesOf(hop, hop.adjacency[i].degree);
  }
  uint64_t total;
  SumInBlock<kThreads>(count, &total);
  if (threadIdx.x == 0) hop.block_sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads) PlaceListsKernel(DeviceHop hop) {
  const uint32_t num_destinations = hop.before->num_nodes;
  const uint32_t num_kept = hop.keeps_edges ? hop.before->end : 0;
  const BlockPart part =
      PartOfBlock(FirstDestination(hop), num_destinations, kThreads);
  uint64_t next = num_kept + SumOfBlocksBefore<kThreads>(hop.block_sums);
  for (uint64_t first = part.begin; first < part.end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    const uint64_t count =
        i < part.end ? EdgesOf(hop, hop.adjacency[i].degree) : 0;
    uint64_t total;
    const uint64_t sum = SumInBlock<kThreads>(count, &total);
    if (i < part.end) {
      hop.indptr[i] = static_cast<uint32_t>(next + sum - count);
    }
    next += total;
  }
  if (blockIdx.x + 1 < gridDim.x || threadIdx.x > 0) return;
  const bool fits = next <= hop.max_edges;
  hop.indptr[num_destinations] = static_cast<uint32_t>(next);
  hop.list->num_known = num_destinations;
  hop.list->begin = num_kept;
  hop.list->end = fits ? static_cast<uint32_t>(next) : num_kept;
  hop.list->wanted_end = next;
}

}  // namespace

cudaError_t LaunchHopLists(const DeviceHop& hop, cudaStream_t stream) {
  const Grid grid = {.blocks = hop.num_blocks, .threads = kThreads};
  const cudaError_t error = Launch(CountEdgesKernel, grid, stream, hop);
  if (error != cudaSuccess) return error;
  return Launch(PlaceListsKernel, grid, stream, hop);
}

}  // namespace fgnn
