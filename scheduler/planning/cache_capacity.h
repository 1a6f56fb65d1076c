// How much trainers cache from the next epoch on, by what the job's memory was
// measured to peak at in the last one.
#ifndef FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
#define FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_

#include <cstdint>

namespace fgnn {

// Of trainers that cache alike.
struct CacheHolders {
  uint64_t rows = 0;       // Of each of them now.
  uint64_t most_rows = 0;  // That each may have: as it was told, or all.
  uint32_t count = 0;      // Of them, in the epoch that was measured.
  uint32_t next_count = 0;
};

struct CacheUse {
  CacheHolders trainers;
  CacheHolders standbys;
  uint64_t row_bytes = 0;   // Above 0.
  uint64_t peak_bytes = 0;  // Of the job, with its caches.
  uint64_t have_bytes = 0;  // For the job.
};

struct CacheRows {
  uint64_t trainer = 0;  // Of each trainer.
  uint64_t standby = 0;  // Of each standby trainer.
  friend bool operator==(const CacheRows&, const CacheRows&) = default;
};

// Rows for the next epoch. Where the peak, with what devices that change roles
// then cache more, is beyond what there is: fewer, by what it is beyond it, of
// the standby trainers first. Else more, where a sixteenth of it would still be
// left, of the trainers first; and only if that is a twentieth more, for caches
// are filled anew.
CacheRows AdaptedCacheRows(const CacheUse& use);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
