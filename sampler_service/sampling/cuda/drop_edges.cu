#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/drop_edges.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
// Value of a free entry of the set. No partner is 2^32 - 1.
constexpr uint64_t kFree = ~uint64_t{0};

__device__ inline uint64_t HomeOf(const DeviceSeedEdges& edges, uint64_t key) {
  return (key * uint64_t{0x9e3779b97f4a7c15u} >> 32) & (edges.num_entries - 1);
}

__device__ inline void Insert(const DeviceSeedEdges& edges, uint32_t end,
                              uint32_t partner) {
  using Word = unsigned long long;
  const uint64_t key = uint64_t{end} << 32 | partner;
  uint64_t at = HomeOf(edges, key);
  for (;;) {
    const uint64_t seen =
        atomicCAS(reinterpret_cast<Word*>(&edges.table[at]),
                  static_cast<Word>(kFree), static_cast<Word>(key));
    if (seen == kFree || seen == key) return;
    at = (at + 1) & (edges.num_entries - 1);
  }
}

__device__ inline bool Contains(const DeviceSeedEdges& edges, uint32_t end,
                                uint32_t partner) {
  const uint64_t key = uint64_t{end} << 32 | partner;
  uint64_t at = HomeOf(edges, key);
  for (;;) {
    const uint64_t seen = edges.table[at];
    if (seen == key) return true;
    if (seen == kFree) return false;
    at = (at + 1) & (edges.num_entries - 1);
  }
}

__global__ void __launch_bounds__(kThreads)
    EnterSeedEdgesKernel(DeviceIdMap map, DeviceSeedEdges edges) {
  for (uint64_t e = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       e < edges.num_edges; e += uint64_t{gridDim.x} * kThreads) {
    const uint32_t from = LocalIdOf(map, edges.seed_ids[2 * e]);
    const uint32_t to = LocalIdOf(map, edges.seed_ids[2 * e + 1]);
    // Skips edges of a batch that did not fit.
    if (max(from, to) >= edges.seeds->num_nodes) continue;
    Insert(edges, from, map.nodes[to]);
    Insert(edges, to, map.nodes[from]);
  }
}

// Only the first vertices of a batch are ends of its edges.
__global__ void __launch_bounds__(kThreads)
    DropSeedEdgesKernel(DeviceHop hop, DeviceSeedEdges edges) {
  if (HasNoEdges(hop)) return;
  const uint64_t first = FirstDestination(hop);
  const uint64_t last =
      min(uint64_t{hop.list->num_known}, 2 * uint64_t{edges.num_edges});
  if (first >= last) return;
  const uint64_t end = hop.indptr[last];
  for (uint64_t e =
           hop.list->begin + uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       e < end; e += uint64_t{gridDim.x} * kThreads) {
    const uint32_t edge = static_cast<uint32_t>(e);
    const uint64_t i = DestinationOf(hop, first, last, edge);
    if (Contains(edges, static_cast<uint32_t>(i), hop.edges[e])) {
      hop.edges[e] = kDroppedEdge;
    }
  }
}

// Sets a bit for each edge that is left, and counts them.
__global__ void __launch_bounds__(kThreads) FindLeftKernel(DropArgs args) {
  const uint64_t begin = args.hop.list->begin;
  const BlockPart part = PartOfBlock(0, args.hop.list->end - begin, kThreads);
  uint64_t count = 0;
  for (uint64_t first = part.begin; first < part.end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    const bool is_left =
        i < part.end && args.hop.edges[begin + i] != kDroppedEdge;
    const uint32_t bits = __ballot_sync(kAllLanes, is_left);
    if (threadIdx.x % kWarpThreads == 0 && i < part.end) {
      args.left_bits[i / 32] = bits;
      count += __popc(bits);
    }
  }
  uint64_t total;
  SumInBlock<kThreads>(count, &total);
  if (threadIdx.x == 0) args.hop.block_sums[blockIdx.x] = total;
}

// Counts the edges left before each word of bits, and moves the edges.
__global__ void __launch_bounds__(kThreads) MoveKernel(DropArgs args) {
  const uint64_t begin = args.hop.list->begin;
  const uint64_t size = args.hop.list->end - begin;
  const BlockPart part = PartOfBlock(0, size, kThreads);
  uint64_t next = SumOfBlocksBefore<kThreads>(args.hop.block_sums);
  for (uint64_t first = part.begin; first < part.end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    const uint32_t lane = threadIdx.x % kWarpThreads;
    const uint32_t bits = i < part.end ? args.left_bits[i / 32] : 0;
    const uint32_t is_left = bits >> lane & 1;
    uint32_t total;
    const uint32_t before = SumInBlock<kThreads>(is_left, &total) - is_left;
    if (lane == 0 && i < part.end) {
      args.left_before[i / 32] = static_cast<uint32_t>(next) + before;
    }
    if (is_left != 0) {
      const uint64_t to = begin + next + before;
      args.left[to] = args.hop.edges[begin + i];
      if (args.drawn_weights != nullptr) {
        args.left_weights[to] = args.drawn_weights[begin + i];
      }
    }
    next += total;
  }
  // What stands behind the last word.
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0 && size % 32 == 0) {
    args.left_bits[size / 32] = 0;
    args.left_before[size / 32] = static_cast<uint32_t>(next);
  }
}

// Returns how many of the first `count` drawn edges are left.
__device__ inline uint32_t LeftOf(const DropArgs& args, uint32_t count) {
  const uint32_t lower = (1u << (count % 32)) - 1;
  return args.left_before[count / 32] +
         __popc(args.left_bits[count / 32] & lower);
}

__global__ void __launch_bounds__(kThreads) MoveListsKernel(DropArgs args) {
  const DeviceHop& hop = args.hop;
  if (HasNoEdges(hop)) return;
  const uint32_t begin = hop.list->begin;
  const uint64_t last = hop.list->num_known;
  for (uint64_t i = FirstDestination(hop) + uint64_t{blockIdx.x} * kThreads +
                    threadIdx.x;
       i <= last; i += uint64_t{gridDim.x} * kThreads) {
    hop.indptr[i] = begin + LeftOf(args, hop.indptr[i] - begin);
  }
}

// Alone, as others read the list's end until all have moved.
__global__ void EndListKernel(DropArgs args) {
  const DeviceHop& hop = args.hop;
  if (HasNoEdges(hop)) return;
  hop.list->end = hop.indptr[hop.list->num_known];
}

}  // namespace

cudaError_t LaunchEnterSeedEdges(const DeviceIdMap& map,
                                 const DeviceSeedEdges& edges,
                                 uint32_t num_blocks, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(
      edges.table, 0xff, edges.num_entries * sizeof(*edges.table), stream);
  if (error != cudaSuccess) return error;
  return Launch(EnterSeedEdgesKernel,
                {.blocks = num_blocks, .threads = kThreads}, stream, map,
                edges);
}

cudaError_t LaunchDropSeedEdges(const DeviceHop& hop,
                                const DeviceSeedEdges& edges,
                                cudaStream_t stream) {
  return Launch(DropSeedEdgesKernel,
                {.blocks = hop.num_blocks, .threads = kThreads}, stream, hop,
                edges);
}

cudaError_t LaunchMoveTogether(const DropArgs& args, cudaStream_t stream) {
  const Grid grid = {.blocks = args.hop.num_blocks, .threads = kThreads};
  cudaError_t error = Launch(FindLeftKernel, grid, stream, args);
  if (error == cudaSuccess) error = Launch(MoveKernel, grid, stream, args);
  if (error == cudaSuccess) error = Launch(MoveListsKernel, grid, stream, args);
  if (error == cudaSuccess) {
    error = Launch(EndListKernel, {.blocks = 1, .threads = 1}, stream, args);
  }
  return error;
}

}  // namespace fgnn
