// The memory that a run takes, measured while the run goes on.
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

  // Notes the memory that the daemons have now, which is not part of the plan
  // just made.
  void SetPlanned();
  // Sets the epoch's peak to 0.
  void BeginEpoch() { epoch_peak_bytes_ = 0; }
  // Measures if the last measurement is long enough ago for the time that one
  // takes.
  void MeasureIfDue();
  void Measure();

  // Returns the most resident bytes of the run so far.
  uint64_t peak_bytes() const { return peak_bytes_; }
  // Returns the most bytes of the epoch so far: anonymous memory and the
  // segment.
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
