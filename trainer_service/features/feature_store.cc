#include "trainer_service/features/feature_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/first_error.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Rows of one task of the team: long enough to prefetch ahead, short enough to
// share out evenly.
constexpr uint64_t kRowsPerTask = 512;

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

absl::Status FeatureStore::Extract(absl::Span<const GlobalId> nodes, float* out,
                                   ThreadTeam& team) const {
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, num_rows()));
  const uint64_t columns = num_columns();
  const int64_t num_tasks =
      static_cast<int64_t>((nodes.size() + kRowsPerTask - 1) / kRowsPerTask);
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team.Run(num_tasks, [&](int64_t task, int) {
    const uint64_t first = static_cast<uint64_t>(task) * kRowsPerTask;
    failed.Note(
        CopyRows(nodes.subspan(first, kRowsPerTask), out + first * columns));
  }));
  return failed.status();
}

}  // namespace fgnn
