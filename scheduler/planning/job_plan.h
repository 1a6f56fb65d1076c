// The plan of a job before anything of it is allocated: how many batches and
// slots, how large, and whether it fits into memory. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Measured by a sampler on the first batches of the job.
struct SamplingProfile {
  uint64_t max_task_bytes = 0;    // Of the batches that were sampled.
  uint64_t bound_task_bytes = 0;  // That no batch can exceed.
  uint64_t max_input_nodes = 0;
  uint64_t max_edges = 0;
  double seconds_per_batch = 0;  // Ts.
  uint64_t workspace_bytes = 0;  // Of one sampler, over all its threads.
};

// Said by a trainer of the job's model.
struct ModelProfile {
  uint64_t num_parameters = 0;
  uint32_t optimizer_floats_per_parameter = 0;
};

// What the plan needs to know of the dataset.
struct DatasetShape {
  uint64_t num_nodes = 0;
  uint64_t num_train = 0;
  uint64_t feature_columns = 0;
  uint64_t feature_row_bytes = 0;  // As they are stored.
  uint32_t num_classes = 0;
};

DatasetShape ShapeOf(const Dataset& dataset);

struct PlanInput {
  uint64_t job_key = 0;
  JobSpec spec;  // Effective.
  DatasetShape dataset;
  SamplingProfile sampling;
  ModelProfile model;
  uint64_t available_bytes = 0;  // Of the machine; see AvailableMemoryBytes().
};

struct MemoryItem {
  std::string name;
  uint64_t bytes = 0;
};

struct JobPlan {
  SegmentOptions segment;
  // What all processes of the job take beside the dataset's mapped files,
  // whose pages the kernel can drop.
  std::vector<MemoryItem> memory;
  uint64_t total_bytes = 0;
};

// ResourceExhausted: the job does not fit into limits.memory or the machine,
// even with as few slots as it can live with; names need and have per item and
// the way out, in one line.
absl::StatusOr<JobPlan> PlanJob(const PlanInput& input);

// "queue of 8 slots 12 MiB + 1 sampler 3 MiB + …", for logs and refusals.
std::string DescribeMemory(const JobPlan& plan);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
