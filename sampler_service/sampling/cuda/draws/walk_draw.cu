#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/draws/walk_draw.h"
#include "sampler_service/sampling/laws/walk_law.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxThreads = 256;
constexpr size_t kMaxSharedBytes = 32 << 10;
constexpr uint32_t kNowhere = 0xffffffffu;

// Walks one walk of destination v and writes the vertex of each step, or
// kNowhere.
__device__ inline void Walk(const DeviceHop& hop, const DeviceWalks& walks,
                            uint32_t v, DeviceAdjacency list, uint32_t walk,
                            uint32_t* visited) {
  for (uint32_t step = 0; step < walks.length; ++step) {
    const uint32_t number = walk * walks.length + step;
    const WalkStep drawn = StepOfWalk(hop.key, v, number);
    if (list.degree == 0 || (step > 0 && drawn.die < walks.end_limit)) {
      for (uint32_t s = step; s < walks.length; ++s) {
        visited[walk * walks.length + s] = kNowhere;
      }
      return;
    }
    const uint64_t place = static_cast<uint64_t>(list.begin) +
                           UniformBelow(drawn.draw, list.degree);
    const uint32_t at = CheckedVertex(hop, IndexAt(hop.graph, place));
    visited[number] = at;
    if (step + 1 < walks.length) list = ReadAdjacency(hop, at);
  }
}

// Counts the visits of each vertex at its first one; 0 at the others.
__device__ inline void CountVisits(const uint32_t* visited, uint32_t size,
                                   uint32_t lane, uint32_t* counts) {
  for (uint32_t i = lane; i < size; i += kWarpThreads) {
    uint32_t count = 0;
    bool is_first = visited[i] != kNowhere;
    for (uint32_t other = 0; other < size; ++other) {
      if (visited[other] != visited[i]) continue;
      ++count;
      if (other < i) is_first = false;
    }
    counts[i] = is_first ? count : 0;
  }
}

// Writes the vertices by falling visits, equal ones by their first. Returns how
// many vertices there are, in all lanes.
__device__ inline uint32_t PutMostVisited(const DeviceHop& hop,
                                          const DeviceWalks& walks,
                                          uint32_t edge,
                                          const uint32_t* visited,
                                          const uint32_t* counts, uint32_t size,
                                          uint32_t lane) {
  const uint32_t fanout = static_cast<uint32_t>(hop.fanout);
  uint32_t num_vertices = 0;
  for (uint32_t i = lane; i < size; i += kWarpThreads) {
    if (counts[i] == 0) continue;
    ++num_vertices;
    uint32_t rank = 0;
    for (uint32_t other = 0; other < size; ++other) {
      rank +=
          counts[other] > counts[i] || (counts[other] == counts[i] && other < i)
              ? 1
              : 0;
    }
    if (rank >= fanout) continue;
    PutVertex(hop, edge + rank, visited[i]);
    walks.visits[edge + rank] = static_cast<float>(counts[i]);
  }
  for (uint32_t d = kWarpThreads / 2; d > 0; d /= 2) {
    num_vertices += __shfl_xor_sync(kAllLanes, num_vertices, d);
  }
  return num_vertices;
}

// A warp per destination, a lane per walk. Shared memory: visited and counts of
// each warp.
__global__ void __launch_bounds__(kMaxThreads)
    WalkKernel(DeviceHop hop, DeviceWalks walks) {
  FGNN_DYNAMIC_SHARED(uint32_t, shared);
  if (HasNoEdges(hop)) return;
  const uint32_t size = walks.num_walks * walks.length;
  const uint32_t num_warps = blockDim.x / kWarpThreads;
  const uint32_t warp = threadIdx.x / kWarpThreads;
  const uint32_t lane = threadIdx.x % kWarpThreads;
  uint32_t* const visited = shared + uint64_t{warp} * 2 * size;
  uint32_t* const counts = visited + size;
  const uint32_t fanout = static_cast<uint32_t>(hop.fanout);
  const uint64_t end = hop.list->num_known;
  for (uint64_t i =
           FirstDestination(hop) + uint64_t{blockIdx.x} * num_warps + warp;
       i < end; i += uint64_t{gridDim.x} * num_warps) {
    const DeviceAdjacency list = hop.adjacency[i];
    if (list.degree == 0) continue;
    const uint32_t edge = hop.indptr[i];
    for (uint32_t walk = lane; walk < walks.num_walks; walk += kWarpThreads) {
      Walk(hop, walks, hop.map.nodes[i], list, walk, visited);
    }
    __syncwarp();
    CountVisits(visited, size, lane, counts);
    __syncwarp();
    const uint32_t num_vertices =
        PutMostVisited(hop, walks, edge, visited, counts, size, lane);
    for (uint32_t j = num_vertices + lane; j < fanout; j += kWarpThreads) {
      hop.edges[edge + j] = kDroppedEdge;
    }
    __syncwarp();
  }
}

}  // namespace

cudaError_t LaunchWalkDraw(const DeviceHop& hop, const DeviceWalks& walks,
                           cudaStream_t stream) {
  const size_t bytes_of_warp =
      size_t{2} * walks.num_walks * walks.length * sizeof(uint32_t);
  size_t num_warps = kMaxSharedBytes / bytes_of_warp;
  if (num_warps > kMaxThreads / kWarpThreads) {
    num_warps = kMaxThreads / kWarpThreads;
  }
  return Launch(WalkKernel,
                {.blocks = hop.num_blocks,
                 .threads = static_cast<uint32_t>(num_warps) * kWarpThreads,
                 .shared_bytes = num_warps * bytes_of_warp},
                stream, hop, walks);
}

}  // namespace fgnn
