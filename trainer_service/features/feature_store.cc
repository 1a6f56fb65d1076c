#include "trainer_service/features/feature_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"

namespace fgnn {
namespace {

// Most and fewest rows of a task of LoadStoredRows(). A disk's queue runs empty
// at the end of each, and every thread is to have some.
constexpr uint64_t kMostLoadedRows = 8192;
constexpr uint64_t kFewestLoadedRows = 512;

}  // namespace

absl::Status CheckNodes(absl::Span<const GlobalId> nodes, uint64_t num_rows) {
  GlobalId largest = 0;
  for (const GlobalId node : nodes) largest = std::max(largest, node);
  if (nodes.empty() || largest < num_rows) return absl::OkStatus();
  const auto bad =
      std::find_if(nodes.begin(), nodes.end(),
                   [num_rows](GlobalId node) { return node >= num_rows; });
  return absl::InvalidArgumentError(
      absl::StrCat("global id ", *bad, " has no features: there are ", num_rows,
                   " rows; is this the dataset that was sampled?"));
}

absl::Status FeatureStore::LoadStoredRows(absl::Span<const GlobalId> nodes,
                                          std::byte* out,
                                          ThreadTeam& team) const {
  const uint64_t rows_per_task =
      std::clamp(nodes.size() / (4 * static_cast<uint64_t>(team.size())),
                 kFewestLoadedRows, kMostLoadedRows);
  const int64_t num_tasks = NumTasks(static_cast<int64_t>(nodes.size()),
                                     static_cast<int64_t>(rows_per_task));
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team.Run(num_tasks, [&](int64_t task, int) {
    const uint64_t first = static_cast<uint64_t>(task) * rows_per_task;
    failed.Note(CopyStoredRows(nodes.subspan(first, rows_per_task),
                               out + first * row_bytes()));
  }));
  return failed.status();
}

absl::Status FeatureStore::ExtractMisses(const BatchMisses& misses, float* out,
                                         ThreadTeam& team,
                                         OtherRows other) const {
  const uint64_t columns = num_columns();
  const uint64_t num_rows = misses.nodes.size();
  const int64_t num_tasks =
      NumTasks(static_cast<int64_t>(num_rows), kExtractedRowsPerTask);
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team.Run(num_tasks, [&](int64_t task, int) {
    const uint64_t first = static_cast<uint64_t>(task) * kExtractedRowsPerTask;
    const uint64_t last =
        std::min<uint64_t>(first + kExtractedRowsPerTask, num_rows);
    other(first, last);
    for (uint64_t i = first; i < last;) {
      uint64_t end = i;
      while (end < last && misses.Has(end)) ++end;
      if (end > i) {
        failed.Note(
            CopyRows(misses.nodes.subspan(i, end - i), out + i * columns));
      }
      i = std::max(end, i + 1);
    }
  }));
  return failed.status();
}

absl::Status FeatureStore::Extract(absl::Span<const GlobalId> nodes, float* out,
                                   ThreadTeam& team) const {
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, num_rows()));
  return ExtractMisses({nodes, {}, 0}, out, team, [](size_t, size_t) {});
}

}  // namespace fgnn
