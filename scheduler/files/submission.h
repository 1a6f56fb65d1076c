// What is checked before a job is queued, so that a mistake is answered at
// once and not when the job's turn comes.
#ifndef FGNN_SCHEDULER_FILES_SUBMISSION_H_
#define FGNN_SCHEDULER_FILES_SUBMISSION_H_

#include <string>

#include "absl/status/status.h"
#include "scheduler/files/job_dataset.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// `spec` is effective; `run_dir` absolute or empty. InvalidArgument and
// NotFound name the field, the file or the folder: the dataset's path and
// shapes, devices that this machine has not. AlreadyExists: the run folder is
// not empty.
absl::Status CheckSubmission(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets);

// The same for a job that is to go on in a folder that is there.
absl::Status CheckResumption(const JobSpec& spec, KnownDatasets& datasets);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_SUBMISSION_H_
