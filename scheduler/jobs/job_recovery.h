// What a start of the service makes of the jobs on disk.
#ifndef FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_
#define FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_

#include "absl/status/status.h"
#include "scheduler/jobs/job_table_parts.h"

namespace fgnn {

// Fills the parts of a new table with what its store has: jobs that have not
// ended, and what users have had of the devices. Jobs that ran are queued
// again, or end for good. Takes the mutex.
absl::Status RecoverJobs(JobTableParts& parts);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_
