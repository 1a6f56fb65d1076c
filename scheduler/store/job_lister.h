// Lists jobs outside the table's mutex, so that lists of thousands of jobs keep
// no other caller waiting.
#ifndef FGNN_SCHEDULER_STORE_JOB_LISTER_H_
#define FGNN_SCHEDULER_STORE_JOB_LISTER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class JobLister {
 public:
  // `reader` comes from JobStore::OpenReader(). It has to be destroyed before
  // the store, since the last one to close the file merges the log into it.
  explicit JobLister(JobStore reader) : reader_(std::move(reader)) {}

  // Returns a page of at most `limit` jobs of the store, newest first.
  // `describe` brings jobs to the table's state and may drop some; it is called
  // without any lock. Only the last page may be empty.
  absl::StatusOr<std::vector<Job>> List(
      const JobFilter& filter, uint32_t limit,
      absl::FunctionRef<void(std::vector<Job>&)> describe);

 private:
  // Never held while the table's mutex is taken.
  Mutex mutex_;
  JobStore reader_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_LISTER_H_
