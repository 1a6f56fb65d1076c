// What a user should know of sampling.order before the job is started.
#ifndef FGNN_SCHEDULER_PLANNING_ORDER_NOTE_H_
#define FGNN_SCHEDULER_PLANNING_ORDER_NOTE_H_

#include <optional>
#include <string>

#include "scheduler/planning/job_plan.h"

namespace fgnn {

// Returns why sampling.order matched cannot pay for this job, and the way out.
// nullopt: it may, or the order is drawn.
std::optional<std::string> NoteOnOrder(const PlanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ORDER_NOTE_H_
