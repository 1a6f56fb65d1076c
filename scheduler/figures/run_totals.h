// The sums over all runs since the scheduler started, for its metrics.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_TOTALS_H_
#define FGNN_SCHEDULER_FIGURES_RUN_TOTALS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "scheduler/figures/epoch_sum.h"
#include "shared/base/threads/mutex.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// Counts work when it is recorded. A batch that is trained again, after a run
// went back to a checkpoint, counts again. Thread-safe.
class RunTotals {
 public:
  struct Sums {
    EpochSum batches;  // Sum of all committed batches.
    uint64_t epochs = 0;
    uint64_t switches = 0;  // Wakes of standby trainers.
    uint64_t failed_checkpoints = 0;
  };

  void AddBatch(const BatchRecord& record);
  // Adds an epoch that has ended, with its wakes of standby trainers.
  void AddEpoch(uint32_t switches);
  void AddFailedCheckpoint();
  Sums sums() const;

 private:
  mutable Mutex mutex_;
  Sums sums_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_TOTALS_H_
