#include "trainer_service/features/cpu/fill_hot_table.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"

namespace fgnn {
namespace {

absl::Status CheckFits(const HotTableShape& shape, const FeatureStore& store,
                       absl::Span<const GlobalId> hottest) {
  if (shape.row_bytes == store.row_bytes() && shape.rows == hottest.size()) {
    return CheckNodes(hottest, store.num_rows());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "hot table of ", shape.rows, " rows of ", shape.row_bytes,
      " bytes does not fit ", hottest.size(), " rows of ", store.row_bytes()));
}

// Returns the number of rows that it read.
absl::StatusOr<uint64_t> FillFree(const FeatureStore& store,
                                  absl::Span<const GlobalId> hottest,
                                  OwnerIndex owner, ThreadTeam& team,
                                  HotTable& table) {
  FirstError failed;
  std::atomic<bool> none_left = false;
  std::atomic<uint64_t> rows = 0;
  const auto num_chunks = static_cast<int64_t>(table.shape().num_chunks());
  FGNN_RETURN_IF_ERROR(team.Run(num_chunks, [&](int64_t, int) {
    if (none_left || failed.any()) return;
    std::optional<HotTable::Chunk> chunk = table.TryTake(owner);
    if (!chunk.has_value()) {
      none_left = true;
      return;
    }
    const absl::Status read = store.CopyStoredRows(
        hottest.subspan(chunk->first_row(), chunk->num_rows()),
        chunk->bytes().data());
    failed.Note(read);
    if (!read.ok()) return;
    rows += chunk->num_rows();
    std::move(*chunk).Done();
  }));
  FGNN_RETURN_IF_ERROR(failed.status());
  return rows.load();
}

}  // namespace

absl::StatusOr<uint64_t> FillHotTable(const FeatureStore& store,
                                      absl::Span<const GlobalId> hottest,
                                      OwnerIndex owner, ThreadTeam& team,
                                      HotTable& table,
                                      std::chrono::milliseconds patience) {
  FGNN_RETURN_IF_ERROR(CheckFits(table.shape(), store, hottest));
  uint64_t rows = 0;
  Deadline until = DeadlineIn(patience);
  while (true) {
    const uint32_t seen = table.changes();
    FGNN_ASSIGN_OR_RETURN(const uint64_t more,
                          FillFree(store, hottest, owner, team, table));
    rows += more;
    if (table.is_full() || MonotonicClock::now() >= until) return rows;
    table.WaitForChange(seen, until);
    if (table.changes() != seen) until = DeadlineIn(patience);
    team.CountTask();
  }
}

}  // namespace fgnn
