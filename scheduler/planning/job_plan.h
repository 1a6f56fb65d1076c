// The plan of a job before anything of it is allocated: how many batches and
// slots, how large, and whether it fits into memory. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/minibatch/hop_size.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Batches that a sampler is profiled with: enough to meet a large one, few
// enough to be done in a moment.
inline constexpr uint32_t kProfiledBatches = 8;

// Measured by a sampler on the first batches of the job.
struct SamplingProfile {
  uint64_t max_task_bytes = 0;    // Of the batches that were sampled.
  uint64_t bound_task_bytes = 0;  // That no batch can exceed.
  uint64_t max_input_nodes = 0;
  uint64_t max_edges = 0;
  double seconds_per_batch = 0;  // Ts.
  // Anonymous memory of one sampler: what it takes over all its threads, and
  // what its process has before.
  uint64_t workspace_bytes = 0;
  uint64_t program_bytes = 0;
  // First hop first: the most of each in any of the batches.
  std::vector<HopSize> hops;
  uint32_t num_threads = 0;  // Of one sampler.
};

// Measured by a trainer on a batch of these sizes.
struct TrainingProfile {
  uint64_t num_parameters = 0;
  uint32_t optimizer_floats_per_parameter = 0;
  double seconds_per_batch = 0;  // Tt.
  // Anonymous memory of one trainer: what its process has before, and takes
  // for its model, threads and batches.
  uint64_t program_bytes = 0;
  uint64_t step_bytes = 0;
  // Beside that, of an evaluation: of each of them, and of what they share. 0:
  // the job evaluates nothing.
  uint64_t evaluation_bytes = 0;
  uint64_t evaluation_shared_bytes = 0;
  uint64_t checkpoint_bytes = 0;  // Of one of them.
};

// What the plan needs to know of the dataset.
struct DatasetShape {
  uint64_t num_nodes = 0;
  uint64_t num_train = 0;  // Vertices, or edges of link prediction.
  uint64_t topology_bytes = 0;
  uint64_t feature_row_bytes = 0;  // As they are stored.
};

DatasetShape ShapeOf(const DatasetSizes& sizes, const TrainingSpec& training);

struct PlanInput {
  uint64_t job_key = 0;
  JobSpec spec;  // Effective.
  DatasetShape dataset;
  SamplingProfile sampling;
  TrainingProfile training;
  uint64_t available_bytes = 0;  // Of the machine; see AvailableMemoryBytes().
};

struct MemoryItem {
  std::string name = {};    // "2 trainers"
  std::string holder = {};  // "segment", "sampler", "trainer" or "dataset".
  std::string device = {};  // Device of the holder, "cpu:0-1"; empty: of all.
  uint64_t bytes = 0;
  // Where the bytes are; see MemoryPlaceOf().
  std::string place = std::string(kHostMemory);
};
// Sum of the items of one place; UINT64_MAX if it does not fit into 64 bits.
uint64_t BytesIn(const std::vector<MemoryItem>& items, std::string_view place);

struct JobPlan {
  SegmentOptions segment;
  // Anonymous memory of all daemons of the job, and their segment.
  std::vector<MemoryItem> memory;
  uint64_t total_bytes = 0;  // Bytes in the host's memory.
  // Files of the dataset that daemons map: as much of them is in memory as
  // there is room for. No part of the sum.
  std::vector<MemoryItem> mapped;
};

// Where memory is short the queue has fewer slots; if that is not enough, fewer
// devices may be planned to train, where that is left to the planner.
// ResourceExhausted: the job does not fit into limits.memory or the machine
// even so; names need and have per item and the way out, in one line.
absl::StatusOr<JobPlan> PlanJob(const PlanInput& input);

// "queue of 8 slots 12 MiB + 1 sampler on cpu:0 3 MiB + …", for logs and
// refusals.
std::string DescribeMemory(const JobPlan& plan);

// "memory allows at most 2 of 4 devices to be planned to train"; empty: it
// allows what the job asks for.
std::string DescribeRoleLimits(const JobPlan& plan, const JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
