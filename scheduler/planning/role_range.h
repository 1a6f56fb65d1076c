// How many of a job's devices may be planned to train; the others sample. Pure
// functions.
#ifndef FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
#define FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_

#include <cstdint>
#include <optional>

#include "shared/config/job_spec.h"

namespace fgnn {

// Range of the number of trainers that are no standby trainers; a job has
// num_trainers() trainers in all.
struct RoleRange {
  uint32_t least_trainers = 0;
  uint32_t most_trainers = 0;
  friend bool operator==(const RoleRange&, const RoleRange&) = default;
};

// Returns the range that the job asks for, whatever memory it takes. The range
// is all trainers unless devices are planned to sample or to train
// ("factored").
RoleRange RolesOf(const JobSpec& spec);

// Bytes that devices take which share one memory, as a machine's cores do. Each
// device has both daemons, whatever it does; only caches differ.
struct RoleMemory {
  uint32_t num_devices = 0;
  // Bytes of each device that samples, for its standby trainer.
  uint64_t sampler_bytes = 0;
  uint64_t trainer_bytes = 0;  // Bytes of each device that is planned to train.
  // Bytes that do not depend on roles, such as the queue.
  uint64_t other_bytes = 0;
  uint64_t have_bytes = 0;
};

// Returns the part of `asked` that fits into memory; nullopt: none does.
std::optional<RoleRange> RolesThatFit(const RoleRange& asked,
                                      const RoleMemory& memory);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
