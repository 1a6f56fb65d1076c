#include "scheduler/figures/run_totals.h"

namespace fgnn {

void RunTotals::AddBatch(const BatchRecord& record) {
  const MutexLock lock(&mutex_);
  sums_.batches.Add(record);
}

void RunTotals::AddEpoch(uint32_t switches) {
  const MutexLock lock(&mutex_);
  ++sums_.epochs;
  sums_.switches += switches;
}

void RunTotals::AddFailedCheckpoint() {
  const MutexLock lock(&mutex_);
  ++sums_.failed_checkpoints;
}

RunTotals::Sums RunTotals::sums() const {
  const MutexLock lock(&mutex_);
  return sums_;
}

}  // namespace fgnn
