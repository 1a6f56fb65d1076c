#include "trainer_service/daemon/batch_features.h"

#include <cstddef>

#include "shared/base/status.h"

namespace fgnn {
namespace {

bool TakesStoredRows(const Workplace& workplace, const TaskView& task) {
  const FeatureStore& store = workplace.features();
  return store.data() != nullptr &&
         workplace.model().TakesStoredRows(task, store.type());
}

}  // namespace

uint64_t FeatureBytes(const Workplace& workplace, const TaskView& task) {
  const uint64_t of_row =
      TakesStoredRows(workplace, task)
          ? sizeof(const std::byte*)
          : workplace.features().num_columns() * sizeof(float);
  return task.input_nodes.size() * of_row;
}

absl::Status ExtractFeatures(const Workplace& workplace, const TaskView& task,
                             ThreadTeam& team, BatchFeatures* features) {
  features->cached = workplace.cache();
  const FeatureCache& cache = features->cached->cache;
  // Ranks of another order say nothing about this cache.
  const bool is_marked =
      task.rank_order_version == features->cached->rank_order_version;
  const absl::Span<const uint32_t> ranks =
      is_marked ? task.hot_rank : absl::Span<const uint32_t>();
  const FeatureStore& store = workplace.features();
  const size_t count = task.input_nodes.size();
  features->dense = {};
  features->stored = {};
  if (TakesStoredRows(workplace, task)) {
    const std::byte** const rows = features->memory.Pointers(count);
    features->stored = {absl::MakeConstSpan(rows, count), store.type()};
    FGNN_ASSIGN_OR_RETURN(features->num_cache_hits,
                          cache.Find(task.input_nodes, ranks, rows));
    return absl::OkStatus();
  }
  const size_t floats = count * store.num_columns();
  features->dense = absl::MakeSpan(features->memory.Floats(floats), floats);
  FGNN_ASSIGN_OR_RETURN(
      features->num_cache_hits,
      cache.Extract(task.input_nodes, ranks, features->dense.data(), team));
  return absl::OkStatus();
}

}  // namespace fgnn
