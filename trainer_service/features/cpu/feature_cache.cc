#include "trainer_service/features/cpu/feature_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/first_error.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
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

}  // namespace fgnn
