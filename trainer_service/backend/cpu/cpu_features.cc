#include "trainer_service/backend/cpu/cpu_features.h"

#include <cstddef>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

bool TakesStoredRows(const FeatureStore& store, const Model& model,
                     const TaskView& task) {
  // Rows of other parts come as copies.
  return store.data() != nullptr && !task.shares_inputs &&
         model.TakesStoredRows(task, store.type());
}

// Bytes for matching the rows of a batch: the table, and places in another one.
uint64_t MatchBytes(uint64_t num_nodes) {
  return RowMatch::BytesFor(num_nodes) + num_nodes * sizeof(uint32_t);
}

}  // namespace

uint64_t CpuFeatures::Bytes(const FeatureStore& store, const Model& model,
                            const TaskView& task, bool matches) {
  const uint64_t count = task.input_nodes.size();
  if (TakesStoredRows(store, model, task)) {
    return count * sizeof(const std::byte*);
  }
  const uint64_t dense = count * store.num_columns() * sizeof(float);
  return dense + (matches ? MatchBytes(task.num_loaded_nodes()) : 0);
}

absl::StatusOr<ExtractedRows> CpuFeatures::Extract(FeatureSources from,
                                                   const Model& model,
                                                   const TaskView& task,
                                                   ThreadTeam& team) {
  match_.Forget();
  dense_ = {};
  stored_ = {};
  cached_ = std::move(from.cached);
  const BatchMisses misses = cached_->MissesOf(task);
  if (!TakesStoredRows(*from.store, model, task)) {
    absl::StatusOr<ExtractedRows> rows = Copy(from, task, misses, team);
    cached_.reset();  // Copies keep no table that may be given up.
    return rows;
  }
  const size_t count = task.input_nodes.size();
  auto* const rows = reinterpret_cast<const std::byte**>(
      memory_.Reserve(count * sizeof(const std::byte*)));
  stored_ = {absl::MakeConstSpan(rows, count), from.store->type()};
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_cached,
                        cached_->cache.Find(misses.nodes, misses.ranks, rows));
  return ExtractedRows{.num_cached = num_cached};
}

absl::StatusOr<ExtractedRows> CpuFeatures::Copy(const FeatureSources& from,
                                                const TaskView& task,
                                                const BatchMisses& misses,
                                                ThreadTeam& team) {
  const size_t count = misses.nodes.size();
  const size_t floats = task.input_nodes.size() * from.store->num_columns();
  RowWindow* window = cached_->window.get();
  if (window != nullptr) {
    window->Pass(task.seq, misses);
    // While another batch is extracted with the window, this one does without.
    if (!window->TryBegin()) window = nullptr;
  }
  const absl::Cleanup end = [window] {
    if (window != nullptr) window->End();
  };
  ExtractedRows rows;
  MatchedRows matched;
  const RowMatch none;
  const RowMatch& before = from.before != nullptr ? from.before->match_ : none;
  if (!before.empty() || window != nullptr) {
    uint32_t* const places = places_.Reserve(count);
    rows.num_matched = before.Find(misses, places);
    matched.places = absl::MakeConstSpan(places, count);
    if (!before.empty()) matched.rows = from.before->rows_;
    if (window != nullptr) {
      rows.num_matched += window->Find(misses.nodes, places);
      matched.window = window->rows();
    }
  }
  dense_ = absl::MakeSpan(
      reinterpret_cast<float*>(memory_.Reserve(floats * sizeof(float))),
      floats);
  FGNN_ASSIGN_OR_RETURN(rows.num_cached,
                        cached_->cache.Extract(misses.nodes, misses.ranks,
                                               dense_.data(), team, matched));
  rows.num_remote = from.store->CountRemote(
      matched.places.empty()
          ? misses
          : BatchMisses{misses.nodes, matched.places, kNotKept});
  if (from.matches) {
    rows_ = dense_.data();
    match_.Keep(misses);
  }
  if (window != nullptr) {
    FGNN_RETURN_IF_ERROR(window->Keep(matched.places, match_,
                                      {.match = &before, .rows = matched.rows},
                                      team));
  }
  return rows;
}

void CpuFeatures::Reset() {
  dense_ = {};
  stored_ = {};
  cached_.reset();
}

uint64_t CpuFeatures::match_bytes() const {
  return match_.empty() ? 0 : match_.bytes() + places_.capacity_bytes();
}

}  // namespace fgnn
