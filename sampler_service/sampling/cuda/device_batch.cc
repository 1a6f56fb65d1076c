#include "sampler_service/sampling/cuda/device_batch.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cuda/batch_launch.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/cuda/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Blocks of 256 threads that a multiprocessor holds at once.
constexpr uint32_t kBlocksPerMultiprocessor = 8;

}  // namespace

DeviceBatch::DeviceBatch(std::shared_ptr<DeviceGraph> graph,
                         UploadedTables weights, const SamplerOptions& options,
                         CudaStream stream, CudaEvent event, StageClock clock,
                         CudaIdMap id_map)
    : graph_(std::move(graph)),
      weights_(std::move(weights)),
      options_(options),
      num_blocks_(graph_->num_multiprocessors() * kBlocksPerMultiprocessor),
      stream_(std::move(stream)),
      done_(std::move(event)),
      clock_(std::move(clock)),
      id_map_(std::move(id_map)) {}

absl::StatusOr<std::unique_ptr<DeviceBatch>> DeviceBatch::Make(
    std::shared_ptr<DeviceGraph> graph, UploadedTables weights,
    const SamplerOptions& options, const BatchBounds& bounds,
    const BatchRoom& first_room) {
  FGNN_RETURN_IF_ERROR(graph->ChooseDevice());
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  FGNN_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Make());
  // The seeds, two stages of each hop, the translation, marks, checksums.
  FGNN_ASSIGN_OR_RETURN(
      StageClock clock,
      StageClock::Make(4 + 2 * static_cast<uint32_t>(options.fanouts.size())));
  FGNN_ASSIGN_OR_RETURN(CudaIdMap id_map,
                        CudaIdMap::Make({.max_nodes = bounds.nodes,
                                         .first_room = first_room.nodes}));
  std::unique_ptr<DeviceBatch> batch(new DeviceBatch(
      std::move(graph), std::move(weights), options, std::move(stream),
      std::move(event), std::move(clock), std::move(id_map)));
  FGNN_RETURN_IF_ERROR(batch->Allocate(bounds, first_room.edges));
  return batch;
}

TaskArrays DeviceBatch::Arrays() const {
  return {.num_hops = num_hops(),
          .has_pairs = options_.negatives > 0,
          .has_weights = HasWeights(options_),
          .has_ranks = ranks_ != nullptr};
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
  if (options_.algorithm == SamplingAlgorithm::kUniform && !options_.replace) {
    FGNN_ASSIGN_OR_RETURN(
        b.large_draws,
        DeviceArray<uint32_t>::Make(num_blocks_ * LargeDrawWords(fanout)));
  }
  const bool excludes = options_.negatives > 0 && options_.exclude_seed_edges;
  if (excludes) {
    FGNN_ASSIGN_OR_RETURN(
        b.seed_edges, DeviceArray<uint64_t>::Make(
                          std::bit_ceil(4 * uint64_t{options_.batch_size})));
  }
  b.has_weights = HasWeights(options_);
  // Walks may find fewer vertices than there is room for, and places of weight
  // 0 are not drawn.
  b.drops_edges = excludes || b.has_weights ||
                  (weights_ != nullptr && !weights_->view.all_positive);
  b.hops.resize(options_.resample ? num_hops() : 1);
  for (HopBuffers& hop : b.hops) {
    FGNN_RETURN_IF_ERROR(b.GrowHop(&hop, num_edges));
  }
  return b.SetRoom(id_map_.room());
}

absl::Status DeviceBatch::Sample(BatchPlace place, uint32_t num_seed_ids,
                                 uint32_t num_positives, Progress* progress,
                                 SampleSeconds* seconds) {
  if (lacks_memory_) {
    return absl::FailedPreconditionError(
        "the device had no memory for an earlier mini-batch");
  }
  while (true) {
    FGNN_RETURN_IF_ERROR(Launch(place, num_seed_ids, num_positives));
    FGNN_RETURN_IF_ERROR(done_.WaitForWork([progress] { progress->Tick(); }));
    FGNN_ASSIGN_OR_RETURN(const bool fits, Fits());
    if (fits) break;
  }
  FGNN_RETURN_IF_ERROR(CheckGraph());
  id_map_.EndBatch(num_nodes());
  return clock_.AddTo(seconds);
}

absl::Status DeviceBatch::Launch(BatchPlace place, uint32_t num_seed_ids,
                                 uint32_t num_positives) {
  FGNN_ASSIGN_OR_RETURN(
      const DeviceIdMap map,
      id_map_.StartBatch(buffers_.MaxPlaces(),
                         &buffers_.counts.get()->table_full, stream_));
  FGNN_RETURN_IF_ERROR(Begin(num_seed_ids));
  const BatchParts parts = {
      .options = options_,
      .graph = graph_->csc(),
      .weights = weights_ == nullptr ? DeviceWeights{} : weights_->view,
      .stream = stream_,
      .num_blocks = num_blocks_,
      .buffers = buffers_,
      .clock = clock_};
  BatchLaunch batch(parts, map, place, num_seed_ids, num_positives);
  FGNN_RETURN_IF_ERROR(batch.Seeds());
  for (uint32_t h = 0; h < num_hops(); ++h) {
    FGNN_RETURN_IF_ERROR(batch.Hop(h));
  }
  FGNN_RETURN_IF_ERROR(
      batch.Finish(ranks_ == nullptr ? nullptr : ranks_->get()));
  FGNN_RETURN_IF_ERROR(batch.Checksums(Arrays()));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(host_counts_.get(), buffers_.counts.get(),
                                 sizeof(BatchCounts), cudaMemcpyDeviceToHost,
                                 stream_.get()),
                 "read the sizes of a batch"));
  return done_.Record(stream_);
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
    if (l > 0 && list.wanted_end > buffers_.OfHop(l - 1).edges.size())
      fits = false;
  }
  if (fits && wanted_nodes <= id_map_.room()) return true;
  const absl::Status grown = Grow(wanted_nodes);
  if (!absl::IsResourceExhausted(grown)) {
    FGNN_RETURN_IF_ERROR(grown);
    return false;
  }
  lacks_memory_ = true;
  size_t free = 0;
  size_t total = 0;
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total),
                                  "ask for the memory of the device"));
  return absl::FailedPreconditionError(absl::StrCat(
      "a mini-batch of ", wanted_nodes, " vertices: ", grown.message(),
      "; the GPU has ", FormatBytes(free), " of ", FormatBytes(total),
      " left; lower sampling.batch_size or sampling.fanouts, or end what else "
      "uses the GPU"));
}

absl::Status DeviceBatch::Grow(uint64_t wanted_nodes) {
  for (uint32_t h = 0; h < num_hops(); ++h) {
    HopBuffers* const arrays = &buffers_.OfHop(h);
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
    if (hop(h).indptr_falls != 0) return FindChangedList(graph_->host());
    FGNN_RETURN_IF_ERROR(
        CheckLargestIndex(graph_->host(), hop(h).largest_index));
  }
  return absl::OkStatus();
}

absl::Status DeviceBatch::Copy(const void* from, uint64_t count, void* to) {
  if (count == 0) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(to, from, count * sizeof(uint32_t),
                                    cudaMemcpyDeviceToHost, stream_.get()),
                    "copy a batch to its block");
}

absl::Status DeviceBatch::CopySeedIds(uint32_t* local_ids) {
  return Copy(buffers_.seeds.get(), seeds().end, local_ids);
}

absl::Status DeviceBatch::CopyHop(uint32_t h,
                                  const TaskWriter::HopArrays& arrays) {
  const HopBuffers& from = buffers_.OfHop(h);
  FGNN_RETURN_IF_ERROR(
      Copy(from.indptr.get(), uint64_t{hop(h).num_known} + 1, arrays.indptr));
  FGNN_RETURN_IF_ERROR(Copy(from.edges.get(), hop(h).end, arrays.indices));
  if (arrays.weights == nullptr) return absl::OkStatus();
  return Copy(from.weights.get(), hop(h).end, arrays.weights);
}

absl::Status DeviceBatch::CopyNodes(uint32_t* nodes) {
  return Copy(id_map_.nodes(), num_nodes(), nodes);
}

absl::Status DeviceBatch::CopyMarks(uint32_t* marks) {
  return Copy(buffers_.marks.get(), num_nodes(), marks);
}

absl::Status DeviceBatch::Wait(Progress* progress) {
  absl::Status status = done_.Record(stream_);
  if (status.ok()) {
    status = done_.WaitForWork([progress] { progress->Tick(); });
  }
  // The copies end all the same, before the block is given back. A device that
  // never ends them is found as a thread without progress.
  if (!status.ok()) cudaStreamSynchronize(stream_.get());
  return status;
}

uint64_t DeviceBatch::device_bytes() const {
  return id_map_.device_bytes() + buffers_.bytes();
}

uint64_t DeviceBatch::pinned_bytes() const {
  return host_seeds_.bytes() + host_counts_.bytes();
}

}  // namespace fgnn
