// Measures the memory that daemons of this host take.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_
#define FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/host/host_state.h"

namespace fgnn {

// Measures the daemons of the job; with an empty id, the daemons without a job.
// Their views show the result from then on. The cost is a walk over their page
// tables.
MemoryUse MeasureDaemons(HostState* state, const std::string& job_id)
    ABSL_LOCKS_EXCLUDED(state->mutex);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_
