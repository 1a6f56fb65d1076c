// Memory of this machine that jobs were planned with and have not taken yet. So
// two jobs that start one after the other do not both count on it.
#ifndef FGNN_SCHEDULER_PLANNING_MEMORY_LEDGER_H_
#define FGNN_SCHEDULER_PLANNING_MEMORY_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class MemoryLedger {
 public:
  // Plans one job at a time. Calls `plan` with the bytes that other jobs are
  // still to take. `plan` returns how many bytes this job takes in all, which
  // are reserved from now on, or why the job does not start.
  absl::Status Plan(
      const std::string& job_id,
      absl::FunctionRef<absl::StatusOr<uint64_t>(uint64_t of_others)> plan);
  // Sets the bytes that the job has taken by now.
  void SetTaken(const std::string& job_id, uint64_t bytes);
  // Returns the bytes that other jobs are still to take.
  uint64_t OfOthers(const std::string& job_id) const;
  // Forgets a job that has ended or let go of its devices.
  void Forget(const std::string& job_id);

 private:
  struct Use {
    uint64_t planned = 0;
    uint64_t taken = 0;
  };

  Mutex plan_mutex_
      ABSL_ACQUIRED_BEFORE(mutex_);  // Held while a job is planned.
  mutable Mutex mutex_;
  std::map<std::string, Use> uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_MEMORY_LEDGER_H_
