#include "sampler_service/sampling/cuda/device_batch.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cuda/hop_lists.h"
#include "sampler_service/sampling/cuda/uniform_draw.h"
#include "sampler_service/sampling/damaged_graph.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"

namespace fgnn {
namespace {

// Blocks of 256 threads that a multiprocessor holds at once.
constexpr uint32_t kBlocksPerMultiprocessor = 8;
// Time between two ticks of the progress.
constexpr std::chrono::milliseconds kTick{5};
// A batch takes milliseconds. A device that works this long is lost.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

DeviceBatch::DeviceBatch(std::shared_ptr<DeviceGraph> graph,
                         const SamplerOptions& options, CudaStream stream,
                         CudaEvent event, StageClock clock, CudaIdMap id_map)
    : graph_(std::move(graph)),
      options_(options),
      num_blocks_(graph_->num_multiprocessors() * kBlocksPerMultiprocessor),
      stream_(std::move(stream)),
      done_(std::move(event)),
      clock_(std::move(clock)),
      id_map_(std::move(id_map)) {}

absl::StatusOr<std::unique_ptr<DeviceBatch>> DeviceBatch::Make(
    std::shared_ptr<DeviceGraph> graph, const SamplerOptions& options,
    const BatchBounds& bounds, const BatchRoom& first_room) {
  FGNN_RETURN_IF_ERROR(graph->ChooseDevice());
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  FGNN_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Make());
  // The seeds, two stages of each hop, the translation and the marks.
  FGNN_ASSIGN_OR_RETURN(
      StageClock clock,
      StageClock::Make(3 + 2 * static_cast<uint32_t>(options.fanouts.size())));
  FGNN_ASSIGN_OR_RETURN(CudaIdMap id_map,
                        CudaIdMap::Make({.max_nodes = bounds.nodes,
                                         .first_room = first_room.nodes}));
  std::unique_ptr<DeviceBatch> batch(
      new DeviceBatch(std::move(graph), options, std::move(stream),
                      std::move(event), std::move(clock), std::move(id_map)));
  FGNN_RETURN_IF_ERROR(batch->Allocate(bounds, first_room.edges));
  return batch;
}

absl::Status DeviceBatch::Allocate(const BatchBounds& bounds,
                                   uint64_t num_edges) {
  BatchBuffers& b = buffers_;
  FGNN_ASSIGN_OR_RETURN(host_seeds_,
                        PinnedArray<uint32_t>::Make(bounds.seed_ids));
  FGNN_ASSIGN_OR_RETURN(host_counts_, PinnedArray<BatchCounts>::Make(1));
  FGNN_ASSIGN_OR_RETURN(b.seeds, DeviceArray<uint32_t>::Make(bounds.seed_ids));
  FGNN_ASSIGN_OR_RETURN(b.counts, DeviceArray<BatchCounts>::Make(1));
  FGNN_ASSIGN_OR_RETURN(b.block_sums, DeviceArray<uint64_t>::Make(num_blocks_));
  const int32_t fanout =
      *std::max_element(options_.fanouts.begin(), options_.fanouts.end());
  if (!options_.replace) {
    FGNN_ASSIGN_OR_RETURN(
        b.large_draws,
        DeviceArray<uint32_t>::Make(num_blocks_ * LargeDrawWords(fanout)));
  }
  if (options_.negatives > 0 && options_.exclude_seed_edges) {
    b.drops_edges = true;
    FGNN_ASSIGN_OR_RETURN(
        b.seed_edges, DeviceArray<uint64_t>::Make(
                          std::bit_ceil(4 * uint64_t{options_.batch_size})));
  }
  b.hops.resize(options_.resample ? num_hops() : 1);
  for (HopBuffers& hop : b.hops) {
    FGNN_RETURN_IF_ERROR(b.GrowHop(&hop, num_edges));
  }
  return b.SetRoom(id_map_.room());
}

absl::Status DeviceBatch::Sample(BatchPlace place, uint32_t num_seed_ids,
                                 uint32_t num_positives, Progress* progress,
                                 SampleSeconds* seconds) {
  num_positives_ = num_positives;
  if (lacks_memory_) {
    return absl::FailedPreconditionError(
        "the device had no memory for an earlier mini-batch");
  }
  while (true) {
    FGNN_RETURN_IF_ERROR(Launch(place, num_seed_ids));
    FGNN_RETURN_IF_ERROR(WaitFor(done_, progress));
    FGNN_ASSIGN_OR_RETURN(const bool fits, Fits());
    if (fits) break;
  }
  FGNN_RETURN_IF_ERROR(CheckGraph());
  id_map_.EndBatch(num_nodes());
  return clock_.AddTo(seconds);
}

absl::Status DeviceBatch::Launch(BatchPlace place, uint32_t num_seed_ids) {
  FGNN_ASSIGN_OR_RETURN(
      const DeviceIdMap map,
      id_map_.StartBatch(buffers_.MaxPlaces(),
                         &buffers_.counts.get()->table_full, stream_));
  FGNN_RETURN_IF_ERROR(Begin(num_seed_ids));
  const MapListArgs seeds = ListArgs(map, 0, buffers_.seeds.get());
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchEnter(seeds, stream_.get()), "enter the seeds"));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchNumber(seeds, stream_.get()), "number the seeds"));
  if (buffers_.drops_edges) {
    FGNN_RETURN_IF_ERROR(CudaStatus(
        LaunchEnterSeedEdges(map, SeedEdges(), num_blocks_, stream_.get()),
        "enter the training edges"));
  }
  FGNN_RETURN_IF_ERROR(clock_.End(&SampleSeconds::id_map, stream_));
  for (uint32_t h = 0; h < num_hops(); ++h) {
    FGNN_RETURN_IF_ERROR(LaunchHop(map, place, h));
  }
  return Finish(map);
}

absl::Status DeviceBatch::Begin(uint32_t num_seed_ids) {
  BatchCounts* const counts = host_counts_.get();
  *counts = {};
  counts->lists[0].end = num_seed_ids;
  counts->lists[0].wanted_end = num_seed_ids;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(buffers_.counts.get(), counts, sizeof(*counts),
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "start a batch"));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(buffers_.seeds.get(), host_seeds_.get(),
                                 num_seed_ids * sizeof(uint32_t),
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "upload the seeds"));
  return clock_.Start(stream_);
}

MapListArgs DeviceBatch::ListArgs(const DeviceIdMap& map, uint32_t list,
                                  uint32_t* ids) {
  return {.map = map,
          .list = &buffers_.counts.get()->lists[list],
          .ids = ids,
          .new_bits = buffers_.place_bits.get(),
          .block_sums = buffers_.block_sums.get(),
          .num_blocks = num_blocks_};
}

absl::Status DeviceBatch::LaunchHop(const DeviceIdMap& map, BatchPlace place,
                                    uint32_t h) {
  HopBuffers& arrays = buffers(h);
  const DeviceHop hop = {.graph = graph_->csc(),
                         .map = map,
                         .key = KeyOfHop(options_, place, h),
                         .fanout = options_.fanouts[h],
                         .replace = options_.replace,
                         .keeps_edges = !options_.resample && h > 0,
                         .enters = true,
                         .before = &buffers_.counts.get()->lists[h],
                         .list = &buffers_.counts.get()->lists[h + 1],
                         .adjacency = buffers_.adjacency.get(),
                         .indptr = arrays.indptr.get(),
                         .edges = arrays.edges.get(),
                         .max_edges = arrays.edges.size(),
                         .block_sums = buffers_.block_sums.get(),
                         .num_blocks = num_blocks_,
                         .large_draws = buffers_.large_draws.get()};
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchHopLists(hop, stream_.get()), "place a hop's lists"));
  FGNN_RETURN_IF_ERROR(LaunchDraws(hop, h));
  FGNN_RETURN_IF_ERROR(clock_.End(&SampleSeconds::sample, stream_));
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchNumber(ListArgs(map, h + 1, arrays.edges.get()), stream_.get()),
      "number a hop"));
  return clock_.End(&SampleSeconds::id_map, stream_);
}

absl::Status DeviceBatch::LaunchDraws(DeviceHop hop, uint32_t h) {
  if (!buffers_.drops_edges) {
    return CudaStatus(LaunchUniformDraw(hop, stream_.get()), "draw a hop");
  }
  // Only the edges that are left may enter the map.
  hop.enters = false;
  hop.edges = buffers_.drawn.get();
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchUniformDraw(hop, stream_.get()), "draw a hop"));
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchDropSeedEdges(hop, SeedEdges(), stream_.get()), "drop edges"));
  uint32_t* const edges = buffers(h).edges.get();
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchMoveTogether({.hop = hop,
                                     .left = edges,
                                     .left_bits = buffers_.place_bits.get(),
                                     .left_before = buffers_.left_before.get()},
                                    stream_.get()),
                 "move edges together"));
  return CudaStatus(LaunchEnter(ListArgs(hop.map, h + 1, edges), stream_.get()),
                    "enter a hop");
}

DeviceSeedEdges DeviceBatch::SeedEdges() const {
  return {.table = buffers_.seed_edges.get(),
          .num_entries = buffers_.seed_edges.size(),
          .seeds = &buffers_.counts.get()->lists[0],
          .entry_ids = buffers_.seeds.get(),
          .num_edges = num_positives_};
}

absl::Status DeviceBatch::Finish(const DeviceIdMap& map) {
  TranslateArgs args = {.map = map,
                        .num_lists = 0,
                        .lists = {},
                        .ids = {},
                        .num_blocks = num_blocks_};
  const auto add = [&](uint32_t list, uint32_t* ids) {
    args.lists[args.num_lists] = &buffers_.counts.get()->lists[list];
    args.ids[args.num_lists++] = ids;
  };
  if (options_.negatives > 0) add(0, buffers_.seeds.get());
  for (uint32_t h = 0; h < num_hops(); ++h) {
    add(h + 1, buffers(h).edges.get());
  }
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchTranslate(args, stream_.get()), "translate the edges"));
  FGNN_RETURN_IF_ERROR(clock_.End(&SampleSeconds::id_map, stream_));
  if (ranks_ != nullptr) {
    FGNN_RETURN_IF_ERROR(CudaStatus(
        LaunchMark({.last = &buffers_.counts.get()->lists[num_hops()],
                    .nodes = map.nodes,
                    .ranks = ranks_->get(),
                    .marks = buffers_.marks.get(),
                    .num_blocks = num_blocks_},
                   stream_.get()),
        "mark the input nodes"));
    FGNN_RETURN_IF_ERROR(clock_.End(&SampleSeconds::mark, stream_));
  }
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(host_counts_.get(), buffers_.counts.get(),
                                 sizeof(BatchCounts), cudaMemcpyDeviceToHost,
                                 stream_.get()),
                 "read the sizes of a batch"));
  return done_.Record(stream_);
}

absl::StatusOr<bool> DeviceBatch::Fits() {
  const BatchCounts& counts = *host_counts_.get();
  uint64_t wanted_nodes = counts.table_full != 0 ? 2 * id_map_.room() : 0;
  bool fits = true;
  for (uint32_t l = 0; l <= num_hops(); ++l) {
    const DeviceList& list = counts.lists[l];
    wanted_nodes = std::max(wanted_nodes, list.wanted_nodes);
    if (list.wanted_end > UINT32_MAX) {
      return absl::FailedPreconditionError(
          absl::StrCat(list.wanted_end,
                       " edges in a hop, 2^32 - 1 at most; lower "
                       "sampling.batch_size or sampling.fanouts"));
    }
    if (l > 0 && list.wanted_end > buffers(l - 1).edges.size()) fits = false;
  }
  if (fits && wanted_nodes <= id_map_.room()) return true;
  const absl::Status grown = Grow(wanted_nodes);
  if (!absl::IsResourceExhausted(grown)) {
    FGNN_RETURN_IF_ERROR(grown);
    return false;
  }
  lacks_memory_ = true;
  return absl::FailedPreconditionError(absl::StrCat(
      "a mini-batch of ", wanted_nodes, " vertices: ", grown.message(),
      "; lower sampling.batch_size or sampling.fanouts"));
}

absl::Status DeviceBatch::Grow(uint64_t wanted_nodes) {
  for (uint32_t h = 0; h < num_hops(); ++h) {
    HopBuffers* const arrays = &buffers(h);
    const uint64_t wanted = hop(h).wanted_end;
    if (wanted <= arrays->edges.size()) continue;
    FGNN_RETURN_IF_ERROR(buffers_.GrowHop(
        arrays, std::min<uint64_t>(wanted + wanted / 4, UINT32_MAX)));
  }
  if (wanted_nodes <= id_map_.room()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(id_map_.Grow(wanted_nodes));
  return buffers_.SetRoom(id_map_.room());
}

absl::Status DeviceBatch::CheckGraph() const {
  for (uint32_t h = 0; h < num_hops(); ++h) {
    if (hop(h).indptr_falls != 0) return FallingIndptr();
    FGNN_RETURN_IF_ERROR(
        CheckIndices(hop(h).largest_index, graph_->csc().num_nodes));
  }
  return absl::OkStatus();
}

absl::Status DeviceBatch::WaitFor(const CudaEvent& event,
                                  Progress* progress) const {
  const Deadline patience = DeadlineIn(kPatience);
  while (true) {
    const absl::Status status = event.Wait(DeadlineIn(kTick));
    progress->Tick();
    if (!absl::IsDeadlineExceeded(status)) return status;
    if (MonotonicClock::now() >= patience) {
      return absl::InternalError(absl::StrCat(
          "the device has worked on a batch for ", kPatience.count(), " s"));
    }
  }
}

absl::Status DeviceBatch::Copy(const uint32_t* from, uint64_t count,
                               uint32_t* to) {
  if (count == 0) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(to, from, count * sizeof(*from),
                                    cudaMemcpyDeviceToHost, stream_.get()),
                    "copy a batch to its block");
}

absl::Status DeviceBatch::CopySeedIds(uint32_t* local_ids) {
  return Copy(buffers_.seeds.get(), seeds().end, local_ids);
}

absl::Status DeviceBatch::CopyHop(uint32_t h,
                                  const TaskWriter::HopArrays& arrays) {
  const HopBuffers& from = buffers(h);
  FGNN_RETURN_IF_ERROR(
      Copy(from.indptr.get(), uint64_t{hop(h).num_known} + 1, arrays.indptr));
  return Copy(from.edges.get(), hop(h).end, arrays.indices);
}

absl::Status DeviceBatch::CopyNodes(uint32_t* nodes) {
  return Copy(id_map_.nodes(), num_nodes(), nodes);
}

absl::Status DeviceBatch::CopyMarks(uint32_t* marks) {
  return Copy(buffers_.marks.get(), num_nodes(), marks);
}

absl::Status DeviceBatch::Wait(Progress* progress) {
  FGNN_RETURN_IF_ERROR(done_.Record(stream_));
  return WaitFor(done_, progress);
}

uint64_t DeviceBatch::device_bytes() const {
  return id_map_.device_bytes() + buffers_.bytes();
}

uint64_t DeviceBatch::pinned_bytes() const {
  return host_seeds_.bytes() + host_counts_.bytes();
}

}  // namespace fgnn
