// Which numbers of a job's devices may be planned to train; the others sample.
// Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
#define FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_

#include <cstdint>
#include <optional>

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

// What devices take that share one memory, as those of a machine's cores do.
// Each has both daemons, whatever it does; caches differ.
struct RoleMemory {
  uint32_t num_devices = 0;
  uint64_t sampler_bytes = 0;  // Of each that samples, its standby trainer's.
  uint64_t trainer_bytes = 0;  // Of each that is planned to train.
  uint64_t other_bytes = 0;    // Whoever does what: the queue.
  uint64_t have_bytes = 0;
};

// What of `asked` fits. nullopt: nothing does.
std::optional<RoleRange> RolesThatFit(const RoleRange& asked,
                                      const RoleMemory& memory);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ROLE_RANGE_H_
