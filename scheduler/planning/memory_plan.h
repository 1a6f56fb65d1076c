// The memory that a job with a given segment takes, item by item. Pure
// functions.
#ifndef FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_

#include <cstdint>

#include "scheduler/planning/cache_capacity.h"
#include "scheduler/planning/job_plan.h"
#include "scheduler/planning/role_range.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Returns a count with its noun: "1 slot", "2 slots".
std::string Counted(uint64_t count, const std::string& what);

// Returns the plan of the job's memory. Among the numbers of trainers in
// `roles`, the one whose caches take most counts.
JobPlan PlanMemory(const PlanInput& input, const SegmentOptions& segment,
                   const RoleRange& roles);

// Returns the memory by role, for a job whose devices are cores that are
// planned to sample or train. The host's memory for daemons of GPUs is that of
// both roles, whatever they do.
RoleMemory MemoryByRole(const PlanInput& input, const SegmentOptions& segment,
                        uint64_t have_bytes);

// Returns the rows that the spec asks each trainer to cache; 0 where it leaves
// the number open.
CacheRows RowsOfEach(const PlanInput& input);

// Returns whether GPUs read features in the host's memory, which stay there.
bool PinsFeatures(const PlanInput& input);

// Returns whether the dataset's features are read past the page cache.
bool ReadsFromDisk(const PlanInput& input);
// Returns whether trainers load rows from the disk or from other hosts.
bool LoadsRows(const PlanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_MEMORY_PLAN_H_
