#include "trainer_service/features/cpu/feature_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/first_error.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "trainer_service/features/cpu/gather_rows.h"
#include "trainer_service/features/cpu/widen.h"

namespace fgnn {
namespace {

constexpr uint64_t kRowsPerTask = 512;

int64_t NumTasks(uint64_t rows) {
  return static_cast<int64_t>((rows + kRowsPerTask - 1) / kRowsPerTask);
}

}  // namespace

absl::StatusOr<FeatureCache> FeatureCache::Load(
    const FeatureStore* store, absl::Span<const GlobalId> hottest,
    ThreadTeam& team) {
  FGNN_RETURN_IF_ERROR(CheckNodes(hottest, store->num_rows()));
  FeatureCache cache(store);
  const uint64_t row_bytes = store->row_bytes();
  cache.rows_ = AllocateTableBytes(hottest.size() * row_bytes);
  if (cache.rows_ == nullptr && !hottest.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a cache of ", hottest.size(), " rows, ",
        FormatBytes(hottest.size() * row_bytes), "; lower cache.capacity"));
  }
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team.Run(NumTasks(hottest.size()), [&](int64_t task,
                                                              int) {
    const uint64_t first = static_cast<uint64_t>(task) * kRowsPerTask;
    failed.Note(store->CopyStoredRows(hottest.subspan(first, kRowsPerTask),
                                      cache.rows_.get() + first * row_bytes));
  }));
  FGNN_RETURN_IF_ERROR(failed.status());
  cache.capacity_ = hottest.size();
  return cache;
}

absl::StatusOr<uint64_t> FeatureCache::Extract(absl::Span<const GlobalId> nodes,
                                               absl::Span<const uint32_t> ranks,
                                               float* out,
                                               ThreadTeam& team) const {
  if (capacity_ == 0 || ranks.empty()) {
    FGNN_RETURN_IF_ERROR(store_->Extract(nodes, out, team));
    return 0;
  }
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, store_->num_rows()));
  if (ranks.size() != nodes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        nodes.size(), " input nodes, but ", ranks.size(), " hot ranks"));
  }
  if (store_->data() != nullptr) {
    return ExtractFromMemory(nodes, ranks, out, team);
  }
  const uint64_t columns = store_->num_columns();
  const uint64_t row_bytes = store_->row_bytes();
  std::atomic<uint64_t> num_hits = 0;
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team.Run(NumTasks(nodes.size()), [&](int64_t task, int) {
    const uint64_t first = static_cast<uint64_t>(task) * kRowsPerTask;
    const uint64_t last =
        std::min<uint64_t>(first + kRowsPerTask, nodes.size());
    uint64_t hits = 0;
    for (uint64_t i = first; i < last; ++i) {
      float* const to = out + i * columns;
      if (ranks[i] < capacity_) {
        WidenToFloats(store_->type(), rows_.get() + ranks[i] * row_bytes,
                      columns, to);
        ++hits;
      } else {
        failed.Note(store_->CopyRows(nodes.subspan(i, 1), to));
      }
    }
    num_hits += hits;
  }));
  FGNN_RETURN_IF_ERROR(failed.status());
  return num_hits.load();
}

absl::StatusOr<uint64_t> FeatureCache::ExtractFromMemory(
    absl::Span<const GlobalId> nodes, absl::Span<const uint32_t> ranks,
    float* out, ThreadTeam& team) const {
  const uint64_t columns = store_->num_columns();
  const uint64_t row_bytes = store_->row_bytes();
  const std::byte* const table = rows_.get();
  const std::byte* const all = store_->data();
  std::atomic<uint64_t> num_hits = 0;
  FGNN_RETURN_IF_ERROR(team.Run(NumTasks(nodes.size()), [&](int64_t task, int) {
    const uint64_t first = static_cast<uint64_t>(task) * kRowsPerTask;
    const auto task_nodes = nodes.subspan(first, kRowsPerTask);
    const auto task_ranks = ranks.subspan(first, kRowsPerTask);
    GatherRows(
        store_->type(), columns, task_nodes.size(),
        [&](size_t i) {
          return task_ranks[i] < capacity_ ? table + task_ranks[i] * row_bytes
                                           : all + task_nodes[i] * row_bytes;
        },
        out + first * columns);
    uint64_t hits = 0;
    for (const uint32_t rank : task_ranks) hits += rank < capacity_ ? 1 : 0;
    num_hits += hits;
  }));
  return num_hits.load();
}

}  // namespace fgnn
