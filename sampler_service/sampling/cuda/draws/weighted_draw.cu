#include "sampler_service/sampling/cuda/device_hop.cuh"
#include "sampler_service/sampling/cuda/draws/weighted_draw.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kWarpThreads;

struct Hit {
  uint64_t place;
  uint32_t vertex;
};

// Returns what attempt a of a list draws; degree >= 1.
__device__ inline Hit Attempt(const DeviceHop& hop, const AliasCell* cells,
                              uint32_t v, uint64_t degree, uint32_t a) {
  PhiloxHalves draws(hop.key, v, /*stream=*/0);
  const AliasDraw draw = DrawAlias(draws.Get(a), degree);
  const AliasCell cell = cells[draw.place];
  const bool stays = draw.coin < cell.threshold;
  return {stays ? draw.place : cell.other,
          stays ? cell.vertex : cell.other_vertex};
}

// A thread per edge: whole lists, or draws with replacement.
__global__ void __launch_bounds__(kThreads)
    DrawByEdgesKernel(DeviceHop hop, DeviceWeights weights) {
  if (HasNoEdges(hop)) return;
  const uint64_t first = FirstDestination(hop);
  const uint64_t last = hop.list->num_known;
  const uint64_t end = hop.list->end;
  for (uint64_t e =
           hop.list->begin + uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       e < end; e += uint64_t{gridDim.x} * kThreads) {
    const uint32_t edge = static_cast<uint32_t>(e);
    const uint64_t i = DestinationOf(hop, first, last, edge);
    const DeviceAdjacency list = hop.adjacency[i];
    const uint32_t j = edge - hop.indptr[i];
    if (hop.fanout >= 0) {
      const Hit hit = Attempt(hop, weights.cells + list.begin, hop.map.nodes[i],
                              list.degree, j);
      PutIndex(hop, edge, hit.vertex);
    } else if (weights.all_positive || weights.weights[list.begin + j] > 0) {
      PutEdge(hop, edge, static_cast<uint64_t>(list.begin) + j);
    } else {
      hop.edges[edge] = kDroppedEdge;
    }
  }
}

// Time of a place in the race of those that are left.
struct Runner {
  double time;
  uint64_t place;
};

__device__ inline bool IsBefore(const Runner& a, const Runner& b) {
  return a.time < b.time || (a.time == b.time && a.place < b.place);
}

// The draws of one destination without replacement, by a warp. All lanes call
// each function together.
class WeightedDraw {
 public:
  // `places` is shared by the lanes: [kMaxWarpFanout].
  __device__ WeightedDraw(const DeviceHop& hop, const DeviceWeights& weights,
                          uint64_t i, uint64_t* places)
      : hop_(hop),
        list_(hop.adjacency[i]),
        cells_(weights.cells + list_.begin),
        weights_(weights.weights + list_.begin),
        v_(hop.map.nodes[i]),
        edge_(hop.indptr[i]),
        fanout_(static_cast<uint32_t>(hop.fanout)),
        lane_(threadIdx.x % kWarpThreads),
        places_(places) {}

  __device__ void Draw() {
    if (list_.degree <= fanout_) {
      TakeWhole();
      return;
    }
    for (uint32_t a = 0; a < kAttemptsPerEdge * fanout_ && size_ < fanout_;
         a += kWarpThreads) {
      MakeAttempts(a);
    }
    const uint32_t num_drawn = size_;
    Runner last = {-1, 0};
    while (size_ < fanout_) {
      last = Next(num_drawn, last);
      if (last.place >= list_.degree) break;
      if (lane_ == 0) {
        PutEdge(hop_, edge_ + size_,
                static_cast<uint64_t>(list_.begin) + last.place);
      }
      ++size_;
    }
    if (lane_ >= size_ && lane_ < fanout_) {
      hop_.edges[edge_ + lane_] = kDroppedEdge;
    }
    // The warp's next destination overwrites the places.
    __syncwarp();
  }

 private:
  // At most a warp's places.
  __device__ void TakeWhole() {
    if (lane_ >= list_.degree) return;
    if (weights_[lane_] > 0) {
      PutEdge(hop_, edge_ + lane_, static_cast<uint64_t>(list_.begin) + lane_);
    } else {
      hop_.edges[edge_ + lane_] = kDroppedEdge;
    }
  }

  __device__ bool IsDrawn(uint64_t place, uint32_t num_drawn) const {
    for (uint32_t k = 0; k < num_drawn; ++k) {
      if (places_[k] == place) return true;
    }
    return false;
  }

  // Makes the attempts from `first` on, one per lane, and takes the new places.
  __device__ void MakeAttempts(uint32_t first) {
    const uint32_t a = first + lane_;
    const bool makes = a < kAttemptsPerEdge * fanout_;
    Hit hit = {~uint64_t{0} - lane_, 0};
    if (makes) hit = Attempt(hop_, cells_, v_, list_.degree, a);
    const uint32_t lower = (1u << lane_) - 1;
    const uint32_t same = __match_any_sync(kAllLanes, hit.place);
    const bool is_new =
        makes && (same & lower) == 0 && !IsDrawn(hit.place, size_);
    const uint32_t all = __ballot_sync(kAllLanes, is_new);
    const uint32_t rank = size_ + __popc(all & lower);
    // All lanes have read the places.
    __syncwarp();
    if (is_new && rank < fanout_) {
      places_[rank] = hit.place;
      PutIndex(hop_, edge_ + rank, hit.vertex);
    }
    __syncwarp();
    size_ = min(fanout_, size_ + static_cast<uint32_t>(__popc(all)));
  }

  // Returns the first runner behind `last` that is not drawn; place 2^64 - 1:
  // there is none.
  __device__ Runner Next(uint32_t num_drawn, const Runner& last) const {
    Runner best = {0, ~uint64_t{0}};
    for (uint64_t i = lane_; i < list_.degree; i += kWarpThreads) {
      const float weight = weights_[i];
      if (!(weight > 0)) continue;
      PhiloxHalves draws(hop_.key, v_, /*stream=*/1);
      const Runner runner = {Exponential(draws.Get(static_cast<uint32_t>(i))) /
                                 static_cast<double>(weight),
                             i};
      if (!IsBefore(last, runner)) continue;
      if (best.place != ~uint64_t{0} && !IsBefore(runner, best)) continue;
      if (!IsDrawn(i, num_drawn)) best = runner;
    }
    for (uint32_t d = kWarpThreads / 2; d > 0; d /= 2) {
      const Runner other = {__shfl_xor_sync(kAllLanes, best.time, d),
                            __shfl_xor_sync(kAllLanes, best.place, d)};
      if (other.place == ~uint64_t{0}) continue;
      if (best.place == ~uint64_t{0} || IsBefore(other, best)) best = other;
    }
    return best;
  }

  const DeviceHop& hop_;
  const DeviceAdjacency list_;
  const AliasCell* const cells_;
  const float* const weights_;
  const uint32_t v_;
  const uint32_t edge_;
  const uint32_t fanout_;
  const uint32_t lane_;
  uint64_t* const places_;
  uint32_t size_ = 0;
};

// A warp per destination. Four blocks on a multiprocessor leave as many
// registers as it needs.
__global__ void __launch_bounds__(kThreads, 4)
    DrawByWarpsKernel(DeviceHop hop, DeviceWeights weights) {
  __shared__ uint64_t places[kWarps][kMaxWarpFanout];
  if (HasNoEdges(hop)) return;
  const uint32_t warp = threadIdx.x / kWarpThreads;
  const uint64_t end = hop.list->num_known;
  for (uint64_t i =
           FirstDestination(hop) + uint64_t{blockIdx.x} * kWarps + warp;
       i < end; i += uint64_t{gridDim.x} * kWarps) {
    WeightedDraw(hop, weights, i, places[warp]).Draw();
  }
}

}  // namespace

cudaError_t LaunchWeightedDraw(const DeviceHop& hop,
                               const DeviceWeights& weights,
                               cudaStream_t stream) {
  const Grid grid = {.blocks = hop.num_blocks, .threads = kThreads};
  if (hop.fanout < 0 || hop.replace) {
    return Launch(DrawByEdgesKernel, grid, stream, hop, weights);
  }
  return Launch(DrawByWarpsKernel, grid, stream, hop, weights);
}

}  // namespace fgnn
