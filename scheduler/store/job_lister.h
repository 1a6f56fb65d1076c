// Lists jobs beside the table, so that lists of thousands keep nobody waiting.
#ifndef FGNN_SCHEDULER_STORE_JOB_LISTER_H_
#define FGNN_SCHEDULER_STORE_JOB_LISTER_H_

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Thread-safe.
class JobLister {
 public:
  // `reader`: of JobStore::OpenReader(). It is to be destroyed before the store
  // is, for the last one that closes the file makes one file of it.
  explicit JobLister(JobStore reader) : reader_(std::move(reader)) {}

  // Returns a page of the jobs that the store has, newest first, at most
  // `limit`. `describe` brings jobs to the table's state and may drop some; it
  // is called without any lock. Only a last page is empty.
  absl::StatusOr<std::vector<Job>> List(
      const JobFilter& filter, uint32_t limit,
      absl::FunctionRef<void(std::vector<Job>&)> describe);

 private:
  // Never held while the table's mutex is taken.
  std::mutex mutex_;
  JobStore reader_;  // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_LISTER_H_
