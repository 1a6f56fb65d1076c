// What a user should know of a job on GPUs before it is started.
#ifndef FGNN_SCHEDULER_PLANNING_GPU_NOTES_H_
#define FGNN_SCHEDULER_PLANNING_GPU_NOTES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/planning/job_plan.h"

namespace fgnn {

// Seconds in which a step's gradients are exchanged and added, by usual rates
// of hosts and GPUs. Nothing is measured.
struct ExchangeSeconds {
  double steps = 0;  // The host adds what all trainers have written.
  double nccl = 0;   // GPUs exchange them, and one adds.
};
ExchangeSeconds EstimateExchange(uint64_t num_parameters,
                                 uint32_t batches_per_step);

// Returns that the other one of training.sync steps and nccl than the job's is
// likely to be much faster, and from what that is estimated. nullopt: it is
// not, or the job has fewer than two GPUs.
std::optional<std::string> NoteOnNccl(const PlanInput& input);

// Returns that GPUs wait for cores that sample, by the measured times, and the
// way out. nullopt: they do not, no GPU was measured, or GPUs may sample too.
std::optional<std::string> NoteOnRoles(const PlanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_GPU_NOTES_H_
