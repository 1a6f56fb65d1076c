// The memory that daemons of this host take.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_
#define FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/host/host_state.h"

namespace fgnn {

// Measures the daemons of the job; an empty id: those that are nobody's. Their
// views show it from then on. Costs a walk over their page tables.
MemoryUse MeasureDaemons(HostState* state, const std::string& job_id)
    ABSL_LOCKS_EXCLUDED(state->mutex);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_MEMORY_H_
