// The memory of a job's GPUs, beside the host's. Pure functions.
//
// A GPU has what the daemons on it take: the topology, hot ranks and batches of
// a sampler, and the step and the cache of a trainer. The topology comes first,
// then the cache takes what is left. A topology that does not fit beside the
// rest stays in the host's memory, which the GPU reads.
//
// A GPU whose devices take turns has both daemons, whatever it is planned to
// do. So a standby trainer's cache lies beside its sampler's topology.
#ifndef FGNN_SCHEDULER_PLANNING_GPU_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_GPU_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/planning/cache_capacity.h"
#include "scheduler/planning/job_plan.h"
#include "shared/config/job_spec.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Returns whether the job's trainers, which are all of one kind, are GPUs.
bool TrainsOnGpus(const JobSpec& spec);

struct GpuChoice {
  bool topology_on_host = false;
  CacheRows rows = {};  // Rows of each trainer's cache, in its GPU's memory.
  // Whether an evaluation keeps the hidden states of all vertices there.
  bool hidden_on_gpu = false;
};

// Chooses what lies in the memory of the GPUs. A cache that is asked for by its
// share of the vertices has these rows; another one takes what is left, but for
// an eighth. Hidden states take what is left then, but for that eighth, where
// one trainer evaluates. No rows: the job trains on cores, or no memory was
// measured. ResourceExhausted: a GPU has too little memory. The message names
// need and have by item, and the way out.
absl::StatusOr<GpuChoice> ChooseForGpus(const PlanInput& input);

// Returns the items of all GPUs of the job, GPU by GPU; none of a GPU whose
// memory was not measured.
std::vector<MemoryItem> GpuItems(const PlanInput& input,
                                 const SegmentOptions& segment);

// Returns the sums of these items, and what each GPU has.
std::vector<PlaceBytes> GpuSums(const PlanInput& input,
                                const std::vector<MemoryItem>& items);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_GPU_PLAN_H_
