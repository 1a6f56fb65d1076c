// Finds the job that a user names.
#ifndef FGNN_SCHEDULER_STORE_JOB_NAMES_H_
#define FGNN_SCHEDULER_STORE_JOB_NAMES_H_

#include <string>

#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Word that names the newest job.
inline constexpr char kLastJob[] = "last";

// Returns the job that `word` names for `user`, who may be nobody (empty). The
// word is a job's id, or kLastJob, or the name of a job of the user: the newest
// one with that name. Otherwise it is the name of jobs of one other user, of
// which the newest is meant too, or a part of one job's id. NotFound: no job is
// named so. InvalidArgument: the word is empty or names several jobs.
absl::StatusOr<Job> FindNamedJob(JobStore& store, const std::string& word,
                                 const std::string& user);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_NAMES_H_
