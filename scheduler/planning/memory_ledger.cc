#include "scheduler/planning/memory_ledger.h"

#include "shared/base/status.h"

namespace fgnn {

absl::Status MemoryLedger::Plan(
    const std::string& job_id,
    absl::FunctionRef<absl::StatusOr<uint64_t>(uint64_t)> plan) {
  const MutexLock planning(&plan_mutex_);
  FGNN_ASSIGN_OR_RETURN(const uint64_t planned, plan(OfOthers(job_id)));
  const MutexLock lock(&mutex_);
  uses_[job_id] = {.planned = planned, .taken = 0};
  return absl::OkStatus();
}

void MemoryLedger::SetTaken(const std::string& job_id, uint64_t bytes) {
  const MutexLock lock(&mutex_);
  const auto use = uses_.find(job_id);
  if (use != uses_.end()) use->second.taken = bytes;
}

uint64_t MemoryLedger::OfOthers(const std::string& job_id) const {
  const MutexLock lock(&mutex_);
  uint64_t bytes = 0;
  for (const auto& [id, use] : uses_) {
    if (id != job_id && use.planned > use.taken) {
      bytes += use.planned - use.taken;
    }
  }
  return bytes;
}

void MemoryLedger::Forget(const std::string& job_id) {
  const MutexLock lock(&mutex_);
  uses_.erase(job_id);
}

}  // namespace fgnn
