#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/draws/labor_draw.h"
#include "sampler_service/sampling/cuda/hop_lists.h"
#include "sampler_service/sampling/laws/labor_law.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kWarpThreads;
// Longer lists are read by all warps of a block, one list after the other.
constexpr uint64_t kLongList = 2048;

// The dice of one destination.
struct Dice {
  DeviceAdjacency list;
  bool whole;  // Whether all places are taken.
  uint32_t limit;
};

__device__ inline Dice DiceOf(const DeviceHop& hop, uint64_t i) {
  Dice dice = {hop.adjacency[i], true, 0};
  if (hop.fanout < 0) return dice;
  const uint64_t fanout = static_cast<uint64_t>(hop.fanout);
  dice.whole = dice.list.degree <= fanout;
  if (!dice.whole) dice.limit = LaborLimit(fanout, dice.list.degree);
  return dice;
}

// Returns whether place j is taken, and writes its index. Wide indices are
// checked as they are read, as the CPU does.
__device__ inline bool Takes(const DeviceHop& hop, const Dice& dice, uint64_t j,
                             uint64_t* index) {
  *index = IndexAt(hop.graph, static_cast<uint64_t>(dice.list.begin) + j);
  if (hop.graph.wide) CheckedVertex(hop, *index);
  return dice.whole ||
         LaborDie(hop.key, static_cast<uint32_t>(*index)) < dice.limit;
}

// Counts the edges of a list, by a warp. With kWrites, writes them from `edge`
// on.
template <bool kWrites>
__device__ inline uint64_t ReadByWarp(const DeviceHop& hop, const Dice& dice,
                                      uint32_t edge) {
  if (!kWrites && dice.whole) return dice.list.degree;
  const uint32_t lane = threadIdx.x % kWarpThreads;
  uint64_t count = 0;
  for (uint64_t at = 0; at < dice.list.degree; at += kWarpThreads) {
    uint64_t index = 0;
    const bool takes =
        at + lane < dice.list.degree && Takes(hop, dice, at + lane, &index);
    const uint32_t all = __ballot_sync(kAllLanes, takes);
    if (kWrites && takes) {
      const uint32_t before = __popc(all & ((1u << lane) - 1));
      PutIndex(hop, edge + static_cast<uint32_t>(count) + before, index);
    }
    count += __popc(all);
  }
  return count;
}

// The same by all threads of the block.
template <bool kWrites>
__device__ inline uint64_t ReadByBlock(const DeviceHop& hop, const Dice& dice,
                                       uint32_t edge) {
  if (!kWrites && dice.whole) return dice.list.degree;
  uint64_t count = 0;
  for (uint64_t at = 0; at < dice.list.degree; at += kThreads) {
    const uint64_t j = at + threadIdx.x;
    uint64_t index = 0;
    const bool takes = j < dice.list.degree && Takes(hop, dice, j, &index);
    uint32_t total;
    const uint32_t sum = SumInBlock<kThreads>(takes ? 1u : 0u, &total);
    if (kWrites && takes) {
      PutIndex(hop, edge + static_cast<uint32_t>(count) + sum - 1, index);
    }
    count += total;
  }
  return count;
}

__device__ inline void PutCount(const DeviceHop& hop, uint64_t i,
                                uint64_t count) {
  // A list of 2^32 edges makes a hop that is refused.
  hop.indptr[i] = static_cast<uint32_t>(min(count, uint64_t{0xffffffffu}));
}

// A warp per destination; then the block's long lists. Four blocks on a
// multiprocessor leave as many registers as it needs.
template <bool kWrites>
__global__ void __launch_bounds__(kThreads, 4) LaborKernel(DeviceHop hop) {
  if (kWrites && HasNoEdges(hop)) return;
  const uint32_t warp = threadIdx.x / kWarpThreads;
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const uint64_t num_known = hop.before->num_known;
  const uint64_t end = hop.before->num_nodes;
  for (uint64_t first = FirstDestination(hop) + uint64_t{blockIdx.x} * kWarps;
       first < end; first += uint64_t{gridDim.x} * kWarps) {
    const uint64_t i = first + warp;
    if (!kWrites && lane == 0 && i < end && i >= num_known) {
      hop.adjacency[i] = ReadAdjacency(hop, hop.map.nodes[i]);
    }
    __syncthreads();
    if (i < end && hop.adjacency[i].degree <= kLongList) {
      const uint64_t count =
          ReadByWarp<kWrites>(hop, DiceOf(hop, i), kWrites ? hop.indptr[i] : 0);
      if (!kWrites && lane == 0) PutCount(hop, i, count);
    }
    for (uint64_t l = first; l < min(end, first + kWarps); ++l) {
      if (hop.adjacency[l].degree <= kLongList) continue;
      const uint64_t count = ReadByBlock<kWrites>(hop, DiceOf(hop, l),
                                                  kWrites ? hop.indptr[l] : 0);
      if (!kWrites && threadIdx.x == 0) PutCount(hop, l, count);
    }
  }
}

}  // namespace

cudaError_t LaunchLaborHop(const DeviceHop& hop, cudaStream_t stream) {
  const Grid grid = {.blocks = hop.num_blocks, .threads = kThreads};
  cudaError_t error = Launch(LaborKernel<false>, grid, stream, hop);
  if (error == cudaSuccess) error = LaunchCountedLists(hop, stream);
  if (error == cudaSuccess) {
    error = Launch(LaborKernel<true>, grid, stream, hop);
  }
  return error;
}

}  // namespace fgnn
