// What a user should know of the cores that sample beside GPUs before the job
// is started.
#ifndef FGNN_SCHEDULER_PLANNING_ROLE_NOTE_H_
#define FGNN_SCHEDULER_PLANNING_ROLE_NOTE_H_

#include <optional>
#include <string>

#include "scheduler/planning/job_plan.h"

namespace fgnn {

// Returns that GPUs wait for cores that sample, by the measured times, and the
// way out. nullopt: they do not, no GPU was measured, or GPUs may sample too.
std::optional<std::string> NoteOnRoles(const PlanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ROLE_NOTE_H_
