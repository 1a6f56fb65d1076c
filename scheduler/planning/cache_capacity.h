// How much trainers cache from the next epoch on, by what the job's memory was
// measured to peak at in the last one.
#ifndef FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
#define FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_

#include <cstdint>

namespace fgnn {

struct CacheUse {
  uint64_t rows = 0;       // Of each trainer now.
  uint64_t most_rows = 0;  // That it may have: as it was told, or of the graph.
  uint64_t row_bytes = 0;  // Over all trainers, above 0.
  uint64_t peak_bytes = 0;  // Of the job, with its caches.
  uint64_t have_bytes = 0;  // For the job.
};

// Rows for the next epoch. Fewer, where the peak was beyond what there is: by
// what it was beyond it. More, where a sixteenth of it would still be left, and
// only if that is a twentieth more, for caches are filled anew.
uint64_t AdaptedCacheRows(const CacheUse& use);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_CACHE_CAPACITY_H_
