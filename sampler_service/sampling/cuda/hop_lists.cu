#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/hop_lists.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Returns the edges that a destination has room for: a count of an earlier
// kernel, or what the in-degree says.
template <bool kCounted>
__device__ inline uint64_t EdgesOf(const DeviceHop& hop, uint64_t i) {
  if (kCounted) return hop.indptr[i];
  const uint64_t degree = hop.adjacency[i].degree;
  if (hop.fanout < 0) return degree;
  const uint64_t fanout = static_cast<uint64_t>(hop.fanout);
  if (hop.replace) return degree == 0 ? 0 : fanout;
  return min(degree, fanout);
}

template <bool kCounted>
__global__ void __launch_bounds__(kThreads) CountEdgesKernel(DeviceHop hop) {
  const uint64_t num_known = hop.before->num_known;
  const BlockPart part =
      PartOfBlock(FirstDestination(hop), hop.before->num_nodes, kThreads);
  uint64_t count = 0;
  for (uint64_t i = part.begin + threadIdx.x; i < part.end; i += kThreads) {
    if (!kCounted && i >= num_known)
      hop.adjacency[i] = ReadAdjacency(hop, hop.map.nodes[i]);
    count += EdgesOf<kCounted>(hop, i);
  }
  uint64_t total;
  SumInBlock<kThreads>(count, &total);
  if (threadIdx.x == 0) hop.block_sums[blockIdx.x] = total;
}

template <bool kCounted>
__global__ void __launch_bounds__(kThreads) PlaceListsKernel(DeviceHop hop) {
  const uint32_t num_destinations = hop.before->num_nodes;
  const uint32_t num_kept = hop.keeps_edges ? hop.before->end : 0;
  const BlockPart part =
      PartOfBlock(FirstDestination(hop), num_destinations, kThreads);
  uint64_t next = num_kept + SumOfBlocksBefore<kThreads>(hop.block_sums);
  for (uint64_t first = part.begin; first < part.end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    const uint64_t count = i < part.end ? EdgesOf<kCounted>(hop, i) : 0;
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

template <bool kCounted>
cudaError_t LaunchLists(const DeviceHop& hop, cudaStream_t stream) {
  const Grid grid = {.blocks = hop.list_blocks, .threads = kThreads};
  const cudaError_t error =
      Launch(CountEdgesKernel<kCounted>, grid, stream, hop);
  if (error != cudaSuccess) return error;
  return Launch(PlaceListsKernel<kCounted>, grid, stream, hop);
}

}  // namespace

cudaError_t LaunchHopLists(const DeviceHop& hop, cudaStream_t stream) {
  return LaunchLists<false>(hop, stream);
}

cudaError_t LaunchCountedLists(const DeviceHop& hop, cudaStream_t stream) {
  return LaunchLists<true>(hop, stream);
}

}  // namespace fgnn
