// Recovers the jobs on disk when the service starts.
#ifndef FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_
#define FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_

#include "absl/status/status.h"
#include "scheduler/jobs/job_table_parts.h"

namespace fgnn {

// Fills the parts of a new table from its store: the jobs that have not ended,
// and the device seconds of users. Jobs that ran are queued again, or end for
// good. Takes the table's mutex.
absl::Status RecoverJobs(JobTableParts& parts);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_RECOVERY_H_
