// Finds the job that a user names.
#ifndef FGNN_SCHEDULER_STORE_JOB_NAMES_H_
#define FGNN_SCHEDULER_STORE_JOB_NAMES_H_

#include <string>

#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Returns the job with this id or unique prefix of an id. NotFound: no job has
// it. InvalidArgument: the word is empty or names several jobs.
absl::StatusOr<Job> FindNamedJob(JobStore& store, const std::string& word);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_NAMES_H_
