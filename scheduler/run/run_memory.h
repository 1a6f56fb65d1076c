// The memory that a run takes, as it is measured while the run goes on.
#ifndef FGNN_SCHEDULER_RUN_RUN_MEMORY_H_
#define FGNN_SCHEDULER_RUN_RUN_MEMORY_H_

#include <cstdint>

#include "scheduler/run/run_context.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunMemory {
 public:
  // Borrows the run.
  explicit RunMemory(RunContext* run)
      : run_(*run), next_look_(MonotonicClock::now()) {}

  // What the daemons have now is not part of the plan that was just made.
  void SetPlanned();
  // Forgets what it took to get to this epoch.
  void BeginEpoch() { epoch_peak_bytes_ = 0; }
  // Measures, if the last time is long enough ago for what that costs.
  void MeasureIfDue();
  void Measure();

  // Most resident bytes of the run so far.
  uint64_t peak_bytes() const { return peak_bytes_; }
  // Most bytes of the epoch so far: anonymous ones, and the segment.
  uint64_t epoch_peak_bytes() const { return epoch_peak_bytes_; }

 private:
  RunContext& run_;
  uint64_t peak_bytes_ = 0;
  uint64_t epoch_peak_bytes_ = 0;
  // Anonymous bytes of the daemons when the job was planned.
  uint64_t unplanned_bytes_ = 0;
  Deadline next_look_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_MEMORY_H_
