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

}  // namespace

PlacedBytes CudaFeatures::Bytes(const TaskView& task, uint64_t columns,
                                FeatureType type, bool with_degrees) {
  const uint64_t nodes = task.input_nodes.size();
  const uint64_t per_node =
      (task.hot_rank.empty() ? 1U : 2U) + (with_degrees ? 2U : 0U);
  uint64_t arrays = per_node * AlignedBytes(nodes) +
                    AlignedBytes(task.pairs.size()) + AlignedBytes(1);
  for (int hop = 0; hop < task.num_hops; ++hop) {
    const BlockView& block = task.hops[static_cast<size_t>(hop)];
    arrays += AlignedBytes(block.indptr.size()) +
              AlignedBytes(block.indices.size()) +
              AlignedBytes(block.weights.size());
    if (with_degrees) arrays += AlignedBytes(block.num_destinations);
  }
  arrays = GrownBytes(arrays);
  return {.host = arrays,
          .device = arrays + GrownBytes(nodes * columns * BytesOf(type))};
}

absl::StatusOr<ExtractedRows> CudaFeatures::Extract(
    const TaskView& task, const FeatureStore& store,
    const LoadedDeviceCache& cached, absl::Span<const EdgeOffset> graph_indptr,
    ExtractionLane& lane, ThreadTeam& team) {
  task_.Reset();
  FGNN_RETURN_IF_ERROR(CheckNodes(task.input_nodes, store.num_rows()));
  // Ranks of another order do not fit this cache.
  const bool is_marked = task.rank_order_version == cached.rank_order_version &&
                         cached.cache.capacity() > 0;
  const absl::Span<const uint32_t> ranks =
      is_marked ? task.hot_rank : absl::Span<const uint32_t>();
  if (!ranks.empty() && ranks.size() != task.input_nodes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(task.input_nodes.size(),
                                                   " input nodes, but ",
                                                   ranks.size(), " hot ranks"));
  }
  const absl::Status uploaded = task_.Upload(task, lane.stream(), graph_indptr);
  bytes_.Set(task_.device_bytes(), task_.pinned_bytes());
  FGNN_RETURN_IF_ERROR(uploaded);
  const absl::StatusOr<uint64_t> num_cached =
      lane.Gather({.nodes = task.input_nodes,
                   .ranks = ranks,
                   .cache = &cached.cache,
                   .task = &task_.view()},
                  team);
  if (!num_cached.ok()) {
    task_.Reset();
    return num_cached.status();
  }
  FGNN_RETURN_IF_ERROR(task_.MarkReady(lane.stream()));
  return ExtractedRows{.num_cached = *num_cached};
}

}  // namespace fgnn
