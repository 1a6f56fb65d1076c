// What a user should know of training.sync nccl before the job is started.
#ifndef FGNN_SCHEDULER_PLANNING_NCCL_NOTE_H_
#define FGNN_SCHEDULER_PLANNING_NCCL_NOTE_H_

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

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_NCCL_NOTE_H_
