// The checks before a job is queued, so that a mistake is answered at once and
// not when the job starts.
#ifndef FGNN_SCHEDULER_FILES_SUBMISSION_H_
#define FGNN_SCHEDULER_FILES_SUBMISSION_H_

#include <string>

#include "absl/status/status.h"
#include "scheduler/files/job_dataset.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Checks a new job. `spec` is effective; `run_dir` is absolute or empty.
// InvalidArgument, NotFound: the dataset's path or shapes are wrong, or this
// machine lacks a device; the message names the field, file or folder.
// AlreadyExists: the run folder is not empty.
absl::Status CheckSubmission(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets);

// Checks a job that is to go on in an existing folder. InvalidArgument: also
// if the run there is complete and the spec asks for no more; the message names
// the field that would.
absl::Status CheckResumption(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_SUBMISSION_H_
