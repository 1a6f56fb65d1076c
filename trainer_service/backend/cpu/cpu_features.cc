#include "trainer_service/backend/cpu/cpu_features.h"

#include <cstddef>
#include <utility>

#include "shared/base/status.h"

namespace fgnn {
namespace {

bool TakesStoredRows(const FeatureStore& store, const Model& model,
                     const TaskView& task) {
  return store.data() != nullptr && model.TakesStoredRows(task, store.type());
}

}  // namespace

uint64_t CpuFeatures::Bytes(const FeatureStore& store, const Model& model,
                            const TaskView& task) {
  const uint64_t of_row = TakesStoredRows(store, model, task)
                              ? sizeof(const std::byte*)
                              : store.num_columns() * sizeof(float);
  return task.input_nodes.size() * of_row;
}

absl::StatusOr<uint64_t> CpuFeatures::Extract(
    const FeatureStore& store, const Model& model, const TaskView& task,
    std::shared_ptr<const LoadedCache> cached, ThreadTeam& team) {
  cached_ = std::move(cached);
  const FeatureCache& cache = cached_->cache;
  // Ranks of another order do not fit this cache.
  const bool is_marked = task.rank_order_version == cached_->rank_order_version;
  const absl::Span<const uint32_t> ranks =
      is_marked ? task.hot_rank : absl::Span<const uint32_t>();
  const size_t count = task.input_nodes.size();
  dense_ = {};
  stored_ = {};
  if (TakesStoredRows(store, model, task)) {
    const std::byte** const rows = memory_.Pointers(count);
    stored_ = {absl::MakeConstSpan(rows, count), store.type()};
    return cache.Find(task.input_nodes, ranks, rows);
  }
  const size_t floats = count * store.num_columns();
  dense_ = absl::MakeSpan(memory_.Floats(floats), floats);
  return cache.Extract(task.input_nodes, ranks, dense_.data(), team);
}

void CpuFeatures::Reset() {
  dense_ = {};
  stored_ = {};
  cached_.reset();
}

}  // namespace fgnn
