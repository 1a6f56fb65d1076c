#include "scheduler/planning/role_range.h"

#include <algorithm>

#include "scheduler/planning/capped.h"

namespace fgnn {

RoleRange RolesOf(const JobSpec& spec) {
  const uint32_t trainers = spec.num_trainers();
  if (spec.executors != "factored") return {trainers, trainers};
  const uint32_t devices = spec.num_samplers();
  if (spec.samplers > 0) {
    return {devices - spec.samplers, devices - spec.samplers};
  }
  // One device samples; cores beside a GPU do anyway.
  return {spec.switching ? 0U : 1U, std::min(trainers, devices - 1)};
}

std::optional<RoleRange> RolesThatFit(const RoleRange& asked,
                                      const RoleMemory& memory) {
  std::optional<RoleRange> fit;
  for (uint32_t trainers = asked.least_trainers;
       trainers <= asked.most_trainers; ++trainers) {
    const uint64_t devices = AddCapped(
        MultiplyCapped(trainers, memory.trainer_bytes),
        MultiplyCapped(memory.num_devices - trainers, memory.sampler_bytes));
    if (AddCapped(devices, memory.other_bytes) > memory.have_bytes) continue;
    // Each further device of the role that takes more adds to the sum, so the
    // numbers that fit are a range.
    if (!fit.has_value()) fit = {trainers, trainers};
    fit->most_trainers = trainers;
  }
  return fit;
}

}  // namespace fgnn
