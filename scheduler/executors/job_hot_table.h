// The table of hot rows that the trainers of a job share, as the scheduler that
// made it sees it; see shared/hot_table.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_HOT_TABLE_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_HOT_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"
#include "shared/hot_table/hot_table.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Returns the bytes of the pages of a memfd that are there; 0: it is none.
uint64_t TouchedBytes(int fd);

// Not thread-safe: for JobSegment, under its mutex.
class JobHotTable {
 public:
  // Makes a table for the plan with the number plan.table, in the place of the
  // one before. Errors: those of HotTable::Create() and of HotTable::Open().
  absl::Status Make(const CachePlan& plan, const SegmentOptions& options);
  // Goes on with the plan's table, which a trainer has kept. Returns false if
  // `fd` is not that table.
  bool TakeOver(UniqueFd fd, const CachePlan& plan,
                const SegmentOptions& options);

  // Number of the table; 0: there is none.
  uint64_t number() const;
  // Returns whether there is a table for this plan, whatever its number.
  bool Fits(const CachePlan& plan) const;
  // Returns a descriptor of the table. Unavailable: a process still has a table
  // before it mapped, and there may be no room for both.
  absl::StatusOr<UniqueFd> Descriptor();
  // See HotTable::ReclaimChunksOf().
  uint64_t ReclaimChunksOf(OwnerIndex dead_owner);
  // Returns the bytes of all pages that have been touched.
  uint64_t bytes() const;

 private:
  std::unique_ptr<HotTable> table_;  // The words; null: there is no table.
  std::vector<UniqueFd> before_;     // Tables that may still be mapped.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_HOT_TABLE_H_
