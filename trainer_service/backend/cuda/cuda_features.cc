#include "trainer_service/backend/cuda/cuda_features.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Bytes of an array of DeviceTask, and of one that grows (GrowArray()).
uint64_t AlignedBytes(uint64_t words) {
  return (words * sizeof(uint32_t) + 63) / 64 * 64;
}
uint64_t GrownBytes(uint64_t bytes) { return bytes + bytes / 8; }

// Returns the task's hot ranks. Those of another order do not fit the cache.
absl::Span<const uint32_t> RanksFor(const TaskView& task,
                                    const LoadedDeviceCache& cached) {
  const bool is_marked = task.rank_order_version == cached.rank_order_version &&
                         cached.cache.capacity() > 0;
  return is_marked ? task.hot_rank : absl::Span<const uint32_t>();
}

}  // namespace

PlacedBytes CudaFeatures::Bytes(const TaskView& task, uint64_t columns,
                                FeatureType type, bool with_degrees,
                                bool packs) {
  const uint64_t nodes = task.input_nodes.size();
  const uint64_t per_node = task.hot_rank.empty() ? 1U : packs ? 3U : 2U;
  uint64_t arrays = per_node * AlignedBytes(nodes) +
                    AlignedBytes(task.pairs.size()) + AlignedBytes(1);
  for (int hop = 0; hop < task.num_hops; ++hop) {
    const BlockView& block = task.hops[static_cast<size_t>(hop)];
    arrays += AlignedBytes(block.indptr.size()) +
              AlignedBytes(block.indices.size()) +
              AlignedBytes(block.weights.size());
    arrays +=
        AlignedBytes(task.split.levels[static_cast<size_t>(hop)].send.size());
    if (!with_degrees) continue;
    arrays += AlignedBytes(block.num_destinations);
    // Sources of a whole batch are the first ones of its last hop.
    if (task.num_parts == 1 && hop + 1 < task.num_hops) continue;
    arrays += 2 * AlignedBytes(block.num_sources);
  }
  arrays = GrownBytes(arrays);
  return {.host = arrays,
          .device = arrays + GrownBytes(nodes * columns * BytesOf(type))};
}

absl::StatusOr<ExtractedRows> CudaFeatures::Extract(const TaskView& task,
                                                    const CudaSources& from,
                                                    ExtractionLane& lane,
                                                    ThreadTeam& team) {
  are_copied_ = false;
  table_.reset();
  task_.Reset();
  absl::StatusOr<ExtractedRows> rows = Take(task, from, lane, team);
  if (!rows.ok()) {
    task_.Reset();
    return rows;
  }
  are_copied_ = task_.view().placed.places == nullptr;
  if (!are_copied_) table_ = from.cached->table;
  return rows;
}

absl::StatusOr<ExtractedRows> CudaFeatures::Take(const TaskView& task,
                                                 const CudaSources& from,
                                                 ExtractionLane& lane,
                                                 ThreadTeam& team) {
  FGNN_RETURN_IF_ERROR(CheckNodes(task.input_nodes, from.store->num_rows()));
  const DeviceCache& cache = from.cached->cache;
  // Other parts of the batch send the other rows.
  const size_t num_loaded = task.num_loaded_nodes();
  const absl::Span<const uint32_t> ranks =
      from.cached->places.Of(RanksFor(task, *from.cached), &places_);
  if (!ranks.empty() && ranks.size() != task.input_nodes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(task.input_nodes.size(),
                                                   " input nodes, but ",
                                                   ranks.size(), " hot ranks"));
  }
  WantedRows wanted = {.nodes = task.input_nodes.subspan(0, num_loaded),
                       .ranks = ranks.subspan(0, num_loaded),
                       .cache = &cache,
                       .task = &task_.view()};
  const PackedRows* packed = nullptr;
  if (from.packer != nullptr && !wanted.ranks.empty()) {
    packed = from.packer->Pack({.nodes = wanted.nodes,
                                .ranks = wanted.ranks,
                                .dense_rows = from.dense_rows,
                                .row_bytes = from.store->row_bytes(),
                                .table = cache.rows(),
                                .capacity = cache.capacity()});
  }
  if (packed != nullptr) {
    wanted.nodes = packed->nodes;
    wanted.ranks = packed->ranks;
  }
  TaskView placed = task;
  if (!ranks.empty()) placed.hot_rank = ranks;
  const absl::Status uploaded =
      task_.Upload(placed, lane.stream(), from.graph_indptr, packed);
  bytes_.Set(task_.device_bytes(), task_.pinned_bytes());
  FGNN_RETURN_IF_ERROR(uploaded);
  FGNN_ASSIGN_OR_RETURN(const uint64_t copied_hits, lane.Gather(wanted, team));
  FGNN_RETURN_IF_ERROR(task_.MarkReady(lane.stream()));
  // Rows that are not copied are hits too.
  return ExtractedRows{
      .num_cached = copied_hits + num_loaded - wanted.nodes.size(),
      .num_remote = from.store->CountRemote(
          {wanted.nodes, wanted.ranks, cache.capacity()})};
}

}  // namespace fgnn
