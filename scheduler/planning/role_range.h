// Which numbers of a job's devices may be planned to train; the others sample.
// Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
#define FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_

#include <cstdint>

#include "shared/config/job_spec.h"

namespace fgnn {

// Of trainers that are no standby trainers; a job has num_trainers() in all.
struct RoleRange {
  uint32_t least_trainers = 0;
  uint32_t most_trainers = 0;
  friend bool operator==(const RoleRange&, const RoleRange&) = default;
};

// As the job asks for them, whatever they take. All of them, but where devices
// are planned to do one of the two ("factored").
RoleRange RolesOf(const JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
