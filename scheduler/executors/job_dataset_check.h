// Has a sampler read a job's dataset, so that daemons are attached only while
// the contents are the ones that it read.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_DATASET_CHECK_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_DATASET_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"

namespace fgnn {

// Not thread-safe: for the job's thread alone.
class JobDatasetCheck {
 public:
  // Borrows the caller.
  explicit JobDatasetCheck(ExecutorCaller* caller);

  // Has a sampler read every value of the dataset. FailedPrecondition: the job
  // began with other contents.
  absl::StatusOr<ValidatedDataset> Validate();
  // Has a sampler read the files again if they have changed. Returns false if
  // no sampler can tell yet whether the contents are the same. Errors as those
  // of Validate().
  absl::StatusOr<bool> IsAsBefore();

 private:
  absl::Status Keep(const ValidatedDataset& validated);

  ExecutorCaller* const caller_;
  // Dataset that daemons may be attached to; its content is 0 before it is
  // known.
  ValidatedDataset dataset_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DATASET_CHECK_H_
