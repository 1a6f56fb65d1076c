// A sampler reads a job's dataset, and daemons are attached to the contents
// that it read and to no others.
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
  // Has a sampler read the files again where they have changed. Returns false
  // if no sampler can tell yet whether the dataset is what it was; errors as
  // those of Validate().
  absl::StatusOr<bool> IsAsBefore();

 private:
  absl::Status Keep(const ValidatedDataset& validated);

  ExecutorCaller* const caller_;
  // What daemons may be attached to. Its content is 0 before it is known.
  ValidatedDataset dataset_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DATASET_CHECK_H_
