#include "scheduler/planning/role_range.h"

namespace fgnn {

RoleRange RolesOf(const JobSpec& spec) {
  const uint32_t trainers = spec.num_trainers();
  if (spec.executors != "factored") return {trainers, trainers};
  if (spec.samplers > 0) {
    return {trainers - spec.samplers, trainers - spec.samplers};
  }
  return {spec.switching ? 0U : 1U, trainers - 1};  // Somebody samples.
}

}  // namespace fgnn
