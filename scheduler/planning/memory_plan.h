// What a job with a given segment takes, item by item. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_

#include <cstdint>

#include "scheduler/planning/job_plan.h"
#include "scheduler/planning/role_range.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Of the numbers of trainers in `roles`, that one counts whose caches take
// most.
JobPlan PlanMemory(const PlanInput& input, const SegmentOptions& segment,
                   const RoleRange& roles);

// The same by device, of a job whose devices are planned to sample or train.
RoleMemory MemoryByRole(const PlanInput& input, const SegmentOptions& segment,
                        uint64_t have_bytes);

// Whether the dataset's features are read past the page cache.
bool ReadsFromDisk(const PlanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_
