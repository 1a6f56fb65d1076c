#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/draws/uniform_draw.h"
#include "sampler_service/sampling/laws/uniform_law.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Returns the place of draw j = lane % kGroup of a list. All lanes of the warp
// call it; those of a group have the same list, of more than `fanout` places if
// it draws. Floyd's draw j is replaced if an earlier place equals it: an
// earlier draw is the same number, or it is the replacement of an earlier draw
// i that was itself replaced. The first is one match over the warp; the second
// is a chain of votes, which nearly always ends at the first.
template <uint32_t kGroup>
__device__ inline uint64_t DrawDistinct(const DeviceHop& hop, uint32_t v,
                                        uint64_t degree, bool draws) {
  const uint32_t fanout = static_cast<uint32_t>(hop.fanout);
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const uint32_t j = lane % kGroup;
  const uint32_t first = lane - j;
  uint64_t drawn = ~uint64_t{0} - lane;  // A number that no lane draws.
  if (draws) {
    PhiloxHalves halves(hop.key, v, /*stream=*/0);
    drawn = FloydDraw(halves, degree, fanout, j);
  }
  // Groups may draw the same numbers: only earlier lanes of the group count.
  const uint32_t earlier = ((1u << lane) - 1) & ~((1u << first) - 1);
  const uint32_t same = __match_any_sync(kAllLanes, drawn);
  bool replaced = draws && (same & earlier) != 0;
  const uint64_t i = drawn - FloydReplacement(degree, fanout, 0);
  const bool chained =
      draws && drawn >= FloydReplacement(degree, fanout, 0) && i < j;
  const uint32_t link = chained ? first + static_cast<uint32_t>(i) : lane;
  for (;;) {
    const uint32_t all = __ballot_sync(kAllLanes, replaced);
    const bool now = replaced || (chained && (all >> link & 1) != 0);
    if (!__any_sync(kAllLanes, now != replaced)) break;
    replaced = now;
  }
  return replaced ? FloydReplacement(degree, fanout, j) : drawn;
}

// A group of lanes per destination, a lane per edge; fanout <= kGroup.
template <uint32_t kGroup>
__global__ void __launch_bounds__(kThreads) DrawByWarpsKernel(DeviceHop hop) {
  if (HasNoEdges(hop)) return;
  const uint64_t begin = FirstDestination(hop);
  const uint64_t end = hop.list->num_known;
  const uint32_t fanout = static_cast<uint32_t>(hop.fanout);
  const uint32_t j = threadIdx.x % kGroup;
  const uint64_t num_groups = uint64_t{gridDim.x} * (kThreads / kGroup);
  const uint64_t first_group =
      uint64_t{blockIdx.x} * (kThreads / kGroup) +
      threadIdx.x / kWarpThreads * (kWarpThreads / kGroup);
  // All lanes of a warp go on as long as one has a destination: they vote.
  for (uint64_t group = first_group; begin + group < end; group += num_groups) {
    const uint64_t i = begin + group + threadIdx.x % kWarpThreads / kGroup;
    DeviceAdjacency list = {0, 0};
    uint32_t v = 0;
    uint32_t edge = 0;
    if (i < end) {
      list = hop.adjacency[i];
      v = hop.map.nodes[i];
      edge = hop.indptr[i] + j;
    }
    const bool draws = list.degree > fanout && j < fanout;
    const uint64_t drawn = DrawDistinct<kGroup>(hop, v, list.degree, draws);
    if (draws || j < min(list.degree, uint64_t{fanout})) {
      PutEdge(hop, edge,
              static_cast<uint64_t>(list.begin) + (draws ? drawn : j));
    }
  }
}

// A thread per edge, so that hubs do not hold others up. Edges do not look at
// each other: whole lists, or draws with replacement.
__global__ void __launch_bounds__(kThreads) DrawByEdgesKernel(DeviceHop hop) {
  if (HasNoEdges(hop)) return;
  const bool whole = hop.fanout < 0;
  const uint64_t first = FirstDestination(hop);
  const uint64_t last = hop.list->num_known;
  const uint64_t end = hop.list->end;
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t e =
           hop.list->begin + uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       e < end; e += step) {
    const uint32_t edge = static_cast<uint32_t>(e);
    const uint64_t i = DestinationOf(hop, first, last, edge);
    const DeviceAdjacency list = hop.adjacency[i];
    const uint32_t j = edge - hop.indptr[i];
    uint64_t place = j;
    if (!whole) {
      PhiloxHalves draws(hop.key, hop.map.nodes[i], /*stream=*/0);
      place = AnyPlace(draws, list.degree, j);
    }
    PutEdge(hop, edge, static_cast<uint64_t>(list.begin) + place);
  }
}

// The draws of one destination by the threads of a block, for fanouts beyond a
// warp. A hash table in device memory finds equal draws: an entry has the
// lowest j of a number that was drawn, and j alone makes the number again.
class BlockDraw {
 public:
  __device__ BlockDraw(const DeviceHop& hop, uint32_t v, uint64_t degree)
      : hop_(hop),
        v_(v),
        degree_(degree),
        fanout_(static_cast<uint32_t>(hop.fanout)),
        entries_(LargeDrawEntries(hop.fanout)),
        table_(hop.large_draws + blockIdx.x * LargeDrawWords(hop.fanout)),
        states_(table_ + entries_) {}

  // Decides for each j whether it is replaced. All threads of the block call
  // it together.
  __device__ void Decide() {
    for (uint64_t e = threadIdx.x; e < entries_; e += kThreads) {
      table_[e] = kFree;
    }
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < fanout_; j += kThreads) Insert(j);
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < fanout_; j += kThreads) {
      const uint64_t drawn = Drawn(j);
      const uint64_t link = drawn - FloydReplacement(degree_, fanout_, 0);
      const bool chained =
          drawn >= FloydReplacement(degree_, fanout_, 0) && link < j;
      Store(&states_[j], FirstWith(drawn) < j ? kReplaced
                         : chained            ? kOpen
                                              : kStays);
    }
    __syncthreads();
    // The lowest open j is decided in each round, for it looks at a lower one.
    bool open = true;
    while (__syncthreads_or(open)) {
      open = false;
      for (uint32_t j = threadIdx.x; j < fanout_; j += kThreads) {
        if (Load(&states_[j]) != kOpen) continue;
        const uint64_t link = Drawn(j) - FloydReplacement(degree_, fanout_, 0);
        const uint32_t state = Load(&states_[link]);
        if (state == kOpen) open = true;
        Store(&states_[j], state);
      }
    }
  }

  __device__ uint64_t Place(uint32_t j) {
    return Load(&states_[j]) == kReplaced
               ? FloydReplacement(degree_, fanout_, j)
               : Drawn(j);
  }

 private:
  static constexpr uint32_t kFree = 0xffffffffu;
  static constexpr uint32_t kStays = 0;
  static constexpr uint32_t kReplaced = 1;
  static constexpr uint32_t kOpen = 2;

  __device__ static uint32_t Load(uint32_t* word) {
    return __nv_atomic_load_n(word, __NV_ATOMIC_RELAXED,
                              __NV_THREAD_SCOPE_BLOCK);
  }
  __device__ static void Store(uint32_t* word, uint32_t value) {
    __nv_atomic_store_n(word, value, __NV_ATOMIC_RELAXED,
                        __NV_THREAD_SCOPE_BLOCK);
  }
  __device__ uint64_t Drawn(uint32_t j) const {
    PhiloxHalves draws(hop_.key, v_, /*stream=*/0);
    return FloydDraw(draws, degree_, fanout_, j);
  }
  __device__ uint64_t HomeOf(uint64_t drawn) const {
    return (drawn * uint64_t{0x9e3779b97f4a7c15u} >> 32) & (entries_ - 1);
  }
  __device__ void Insert(uint32_t j) {
    const uint64_t drawn = Drawn(j);
    for (uint64_t at = HomeOf(drawn);; at = (at + 1) & (entries_ - 1)) {
      const uint32_t seen = atomicCAS(&table_[at], kFree, j);
      if (seen == kFree) return;
      if (Drawn(seen) == drawn) {
        atomicMin(&table_[at], j);
        return;
      }
    }
  }
  // Returns the lowest j with this number.
  __device__ uint32_t FirstWith(uint64_t drawn) const {
    uint64_t at = HomeOf(drawn);
    while (Drawn(table_[at]) != drawn) at = (at + 1) & (entries_ - 1);
    return table_[at];
  }

  const DeviceHop& hop_;
  const uint32_t v_;
  const uint64_t degree_;
  const uint32_t fanout_;
  const uint64_t entries_;
  uint32_t* const table_;   // [entries_]
  uint32_t* const states_;  // [fanout_]
};

// A block per destination. Four blocks on a multiprocessor leave as many
// registers as it needs.
__global__ void __launch_bounds__(kThreads, 4)
    DrawByBlocksKernel(DeviceHop hop) {
  if (HasNoEdges(hop)) return;
  const uint64_t end = hop.list->num_known;
  const uint32_t fanout = static_cast<uint32_t>(hop.fanout);
  for (uint64_t i = FirstDestination(hop) + blockIdx.x; i < end;
       i += gridDim.x) {
    const DeviceAdjacency list = hop.adjacency[i];
    const uint64_t begin = static_cast<uint64_t>(list.begin);
    const uint32_t edge = hop.indptr[i];
    if (list.degree <= fanout) {
      for (uint32_t j = threadIdx.x; j < list.degree; j += kThreads) {
        PutEdge(hop, edge + j, begin + j);
      }
      continue;
    }
    BlockDraw draw(hop, hop.map.nodes[i], list.degree);
    draw.Decide();
    for (uint32_t j = threadIdx.x; j < fanout; j += kThreads) {
      PutEdge(hop, edge + j, begin + draw.Place(j));
    }
    // The next destination clears the table.
    __syncthreads();
  }
}

}  // namespace

cudaError_t LaunchUniformDraw(const DeviceHop& hop, cudaStream_t stream) {
  const Grid grid = {.blocks = hop.num_blocks, .threads = kThreads};
  if (hop.fanout < 0 || hop.replace) {
    return Launch(DrawByEdgesKernel, grid, stream, hop);
  }
  if (hop.fanout <= 4) return Launch(DrawByWarpsKernel<4>, grid, stream, hop);
  if (hop.fanout <= 8) return Launch(DrawByWarpsKernel<8>, grid, stream, hop);
  if (hop.fanout <= 16) return Launch(DrawByWarpsKernel<16>, grid, stream, hop);
  if (hop.fanout <= kMaxWarpFanout) {
    return Launch(DrawByWarpsKernel<32>, grid, stream, hop);
  }
  return Launch(DrawByBlocksKernel, grid, stream, hop);
}

}  // namespace fgnn
