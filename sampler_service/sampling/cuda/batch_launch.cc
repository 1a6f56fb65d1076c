#include "sampler_service/sampling/cuda/batch_launch.h"

#include <algorithm>
#include <bit>

#include "sampler_service/sampling/cuda/draws/labor_draw.h"
#include "sampler_service/sampling/cuda/draws/uniform_draw.h"
#include "sampler_service/sampling/cuda/draws/walk_draw.h"
#include "sampler_service/sampling/cuda/draws/weighted_draw.h"
#include "sampler_service/sampling/cuda/hop_lists.h"
#include "sampler_service/sampling/laws/walk_law.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"

namespace fgnn {

absl::Status BatchLaunch::Seeds() {
  const cudaStream_t stream = parts_.stream.get();
  const MapListArgs seeds = ListArgs(0, parts_.buffers.seeds.get());
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchEnter(seeds, stream), "enter the seeds"));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchNumber(seeds, stream), "number the seeds"));
  if (ExcludesSeedEdges()) {
    FGNN_RETURN_IF_ERROR(
        CudaStatus(LaunchEnterSeedEdges(map_, SeedEdges(), map_blocks_, stream),
                   "enter the training edges"));
  }
  return parts_.clock.End(&SampleSeconds::id_map, parts_.stream);
}

uint32_t BatchLaunch::BlocksFor(uint64_t places) const {
  constexpr uint64_t kThreads = 256;
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      (places + kThreads - 1) / kThreads, 1, parts_.num_blocks));
}

void BatchLaunch::SetBlocks(uint32_t h) {
  const int32_t fanout = parts_.options.fanouts[h];
  const bool is_labor = parts_.options.algorithm == SamplingAlgorithm::kLabor;
  list_blocks_ = BlocksFor(max_nodes_);
  if (fanout < 0 || is_labor) {
    draw_blocks_ = parts_.num_blocks;
    map_blocks_ = parts_.num_blocks;
    max_nodes_ = map_.max_nodes;
    return;
  }
  const auto most = static_cast<uint64_t>(fanout);
  // Threads of a destination: a group of lanes, a warp or a block.
  const uint64_t lanes =
      fanout > kMaxWarpFanout ? 256
      : parts_.options.algorithm == SamplingAlgorithm::kUniform
          ? std::bit_ceil(most)
          : 32;
  draw_blocks_ = BlocksFor(max_nodes_ * std::max(lanes, most));
  map_blocks_ = BlocksFor(max_nodes_ * most);
  max_nodes_ = std::min<uint64_t>(map_.max_nodes, max_nodes_ * (most + 1));
}

MapListArgs BatchLaunch::ListArgs(uint32_t list, uint32_t* ids) const {
  return {.map = map_,
          .list = ListOf(list),
          .ids = ids,
          .new_bits = parts_.buffers.place_bits.get(),
          .block_sums = parts_.buffers.block_sums.get(),
          .num_blocks = map_blocks_};
}

DeviceSeedEdges BatchLaunch::SeedEdges() const {
  return {.table = parts_.buffers.seed_edges.get(),
          .num_entries = parts_.buffers.seed_edges.size(),
          .seeds = ListOf(0),
          .seed_ids = parts_.buffers.seeds.get(),
          .num_edges = num_positives_};
}

DeviceHop BatchLaunch::HopArgs(uint32_t h) const {
  const SamplerOptions& options = parts_.options;
  const BatchBuffers& b = parts_.buffers;
  HopBuffers& arrays = buffers(h);
  return {.graph = parts_.graph,
          .map = map_,
          .key = KeyOfHop(options, place_, h),
          .fanout = options.fanouts[h],
          // A walk may visit more vertices than its start has neighbours.
          .replace = options.replace ||
                     options.algorithm == SamplingAlgorithm::kRandomWalk,
          .keeps_edges = !options.resample && h > 0,
          .enters = !b.drops_edges,
          .before = ListOf(h),
          .list = ListOf(h + 1),
          .adjacency = b.adjacency.get(),
          .indptr = arrays.indptr.get(),
          .edges = b.drops_edges ? b.drawn.get() : arrays.edges.get(),
          .max_edges = arrays.edges.size(),
          .block_sums = b.block_sums.get(),
          .num_blocks = draw_blocks_,
          .list_blocks = list_blocks_,
          .large_draws = b.large_draws.get()};
}

absl::Status BatchLaunch::Hop(uint32_t h) {
  SetBlocks(h);
  const DeviceHop hop = HopArgs(h);
  FGNN_RETURN_IF_ERROR(CudaStatus(Draw(hop), "draw a hop"));
  if (!hop.enters) FGNN_RETURN_IF_ERROR(DropAndEnter(hop, h));
  FGNN_RETURN_IF_ERROR(parts_.clock.End(&SampleSeconds::sample, parts_.stream));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchNumber(ListArgs(h + 1, buffers(h).edges.get()),
                              parts_.stream.get()),
                 "number a hop"));
  return parts_.clock.End(&SampleSeconds::id_map, parts_.stream);
}

cudaError_t BatchLaunch::Draw(const DeviceHop& hop) const {
  const cudaStream_t stream = parts_.stream.get();
  const SamplingAlgorithm algorithm = parts_.options.algorithm;
  if (algorithm == SamplingAlgorithm::kLabor) {
    return LaunchLaborHop(hop, stream);
  }
  const cudaError_t error = LaunchHopLists(hop, stream);
  if (error != cudaSuccess) return error;
  if (algorithm == SamplingAlgorithm::kWeighted) {
    return LaunchWeightedDraw(hop, parts_.weights, stream);
  }
  if (algorithm == SamplingAlgorithm::kRandomWalk) {
    const WalkOptions& walks = parts_.options.walks;
    return LaunchWalkDraw(hop,
                          {.num_walks = walks.num_walks,
                           .length = walks.length,
                           .end_limit = WalkEndLimit(walks.restart),
                           .visits = parts_.buffers.drawn_weights.get()},
                          stream);
  }
  return LaunchUniformDraw(hop, stream);
}

absl::Status BatchLaunch::DropAndEnter(const DeviceHop& hop, uint32_t h) const {
  const cudaStream_t stream = parts_.stream.get();
  const BatchBuffers& b = parts_.buffers;
  if (ExcludesSeedEdges()) {
    FGNN_RETURN_IF_ERROR(CudaStatus(
        LaunchDropSeedEdges(hop, SeedEdges(), stream), "drop edges"));
  }
  HopBuffers& left = buffers(h);
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchMoveTogether({.hop = hop,
                                     .left = left.edges.get(),
                                     .left_bits = b.place_bits.get(),
                                     .left_before = b.left_before.get(),
                                     .drawn_weights = b.drawn_weights.get(),
                                     .left_weights = left.weights.get()},
                                    stream),
                 "move edges together"));
  return CudaStatus(LaunchEnter(ListArgs(h + 1, left.edges.get()), stream),
                    "enter a hop");
}

absl::Status BatchLaunch::Finish(const uint32_t* ranks) {
  TranslateArgs args = {.map = map_,
                        .num_lists = 0,
                        .lists = {},
                        .ids = {},
                        .num_blocks = parts_.num_blocks};
  const auto add = [&](uint32_t list, uint32_t* ids) {
    args.lists[args.num_lists] = ListOf(list);
    args.ids[args.num_lists++] = ids;
  };
  // Pairs are local ids of seeds.
  if (parts_.options.negatives > 0) add(0, parts_.buffers.seeds.get());
  for (uint32_t h = 0; h < num_hops(); ++h) {
    add(h + 1, buffers(h).edges.get());
  }
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchTranslate(args, parts_.stream.get()),
                                  "translate the edges"));
  FGNN_RETURN_IF_ERROR(parts_.clock.End(&SampleSeconds::id_map, parts_.stream));
  if (ranks == nullptr) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchMark({.last = ListOf(num_hops()),
                             .nodes = map_.nodes,
                             .ranks = ranks,
                             .marks = parts_.buffers.marks.get(),
                             .num_blocks = parts_.num_blocks},
                            parts_.stream.get()),
                 "mark the input nodes"));
  return parts_.clock.End(&SampleSeconds::mark, parts_.stream);
}

absl::Status BatchLaunch::Checksums(const TaskArrays& arrays) {
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchBatchCrcs(arrays, parts_.buffers, map_,
                                 parts_.num_blocks, parts_.stream.get()),
                 "compute the checksums"));
  return parts_.clock.End(&SampleSeconds::copy, parts_.stream);
}

}  // namespace fgnn
