// How many rows trainers cache from the next epoch on, by the measured peak of
// the job's memory in the last epoch.
#ifndef FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
#define FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_

#include <cstdint>

namespace fgnn {

// Trainers that cache alike.
struct CacheHolders {
  uint64_t rows = 0;       // Rows that each of them caches now.
  uint64_t most_rows = 0;  // Most rows of each: the number asked for, or all.
  uint32_t count = 0;      // Number of them in the measured epoch.
  uint32_t next_count = 0;
};

struct CacheUse {
  CacheHolders trainers;
  CacheHolders standbys;
  uint64_t row_bytes = 0;   // Bytes of a row, above 0.
  uint64_t peak_bytes = 0;  // Measured peak of the job, with its caches.
  uint64_t have_bytes = 0;  // Bytes that the job may take.
};

struct CacheRows {
  uint64_t trainer = 0;  // Rows of each trainer.
  uint64_t standby = 0;  // Rows of each standby trainer.
  friend bool operator==(const CacheRows&, const CacheRows&) = default;
};

// Returns the rows for the next epoch. The peak includes the rows that devices
// caching more after a change of roles will add. If the peak exceeds the bytes
// that the job may take, the caches shrink by the excess, those of standby
// trainers first. Otherwise caches grow into what is free, but for a sixteenth
// of all, those of trainers first. They grow only by a twentieth or more, since
// a changed cache is filled anew.
CacheRows AdaptedCacheRows(const CacheUse& use);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
