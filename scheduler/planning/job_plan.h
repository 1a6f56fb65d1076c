// The plan of a job before anything is allocated: the numbers of batches and
// slots, their sizes, and whether the job fits into memory. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/graph/dataset.h"
#include "shared/measured/profiles.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Number of batches that a sampler is profiled with: enough to meet a large
// one, and few enough to be sampled in a moment.
inline constexpr uint32_t kProfiledBatches = 8;

// Sizes of the dataset that the plan needs.
struct DatasetShape {
  uint64_t num_nodes = 0;
  uint64_t num_train = 0;  // Training vertices; with link prediction, edges.
  uint64_t topology_bytes = 0;
  uint64_t feature_columns = 0;    // Numbers of a row.
  uint64_t feature_row_bytes = 0;  // Bytes of a row as it is stored.
  uint64_t num_edges = 0;
  // Vertices of the larger one of the splits that are evaluated; with link
  // prediction, all.
  uint64_t num_scored = 0;
  uint64_t num_outputs = 0;  // Columns of the last layer, without links.
  // Rows of the features that a host folder has; nullopt: all are there.
  std::optional<uint64_t> own_rows = std::nullopt;
};

DatasetShape ShapeOf(const DatasetSizes& sizes, const TrainingSpec& training);

struct PlanInput {
  uint64_t job_key = 0;
  JobSpec spec;  // Effective spec.
  DatasetShape dataset;
  // Profile of a sampler on cores, if the job samples there, else on a GPU.
  // Both sample the same batches.
  SamplingProfile sampling;
  // Profile of a sampler on a GPU, where `sampling` is of cores; nullopt: the
  // job's samplers are on one kind of device, or no GPU was measured.
  std::optional<SamplingProfile> sampling_on_gpus = std::nullopt;
  TrainingProfile training;
  // Batches of an epoch with training.seeds own; 0: every batch draws its seeds
  // from all train vertices.
  uint64_t own_batches = 0;
  uint64_t book = 0;  // As in ValidatedDataset.
  // See SegmentOptions.
  uint64_t num_hosts = 1;
  uint64_t places_before = 0;
  uint64_t places_after = 0;
  // Bytes that the machine has free; see AvailableMemoryBytes().
  uint64_t available_bytes = 0;
};

// Returns what was measured of a sampler on this kind of device; on the other
// kind if that is all that was measured.
const SamplingProfile& SamplingOn(const PlanInput& input, DeviceKind kind);

// Returns the bytes that the job may take: those that the machine has free, or
// the job's limit if it is less.
uint64_t HaveBytes(const PlanInput& input);

struct MemoryItem {
  std::string name = {};  // Name such as "2 trainers".
  // Holder: "segment", "sampler", "trainer" or "dataset".
  std::string holder = {};
  // Device of the holder, "cpu:0-1"; empty: all devices.
  std::string device = {};
  uint64_t bytes = 0;
  // Memory that has the bytes; see MemoryPlaceOf().
  std::string place = std::string(kHostMemory);
};
// Returns the sum of the items of one place; UINT64_MAX if it does not fit into
// 64 bits.
uint64_t BytesIn(const std::vector<MemoryItem>& items, std::string_view place);

// The bytes that a job takes of a GPU's memory.
struct PlaceBytes {
  std::string place = {};    // "cuda:0"
  uint64_t total_bytes = 0;  // With what others have there.
  uint64_t have_bytes = 0;   // All bytes of the GPU.
};

struct JobPlan {
  SegmentOptions segment;
  // Anonymous memory of all daemons of the job, and their segment; then the
  // memory of GPUs.
  std::vector<MemoryItem> memory;
  uint64_t total_bytes = 0;  // Bytes in the host's memory.
  // Sums of `memory` on the job's GPUs that were measured.
  std::vector<PlaceBytes> gpus;
  // Files of the dataset that daemons map. The kernel keeps as much of them in
  // memory as there is room for. They are no part of the sum.
  std::vector<MemoryItem> mapped;
};

// Plans a job. If memory is short, the queue gets fewer slots. If that is not
// enough, fewer devices may be planned to train, or to sample, where the
// planner decides on that. ResourceExhausted: the job still does not fit into
// limits.memory, the machine or its GPUs. The message, one line, names need and
// have per item and the way out.
absl::StatusOr<JobPlan> PlanJob(const PlanInput& input);

// Returns text like "queue of 8 slots 12 MiB + 1 sampler on cpu:0 3 MiB + …",
// for logs and refusals: the items of one place.
std::string DescribeItems(const std::vector<MemoryItem>& items,
                          std::string_view place);
// Returns the same of the host's items.
std::string DescribeMemory(const JobPlan& plan);
// Returns text like "; cuda:0 1.2 GiB of 80 GiB: topology 0.9 GiB + …" of all
// GPUs; empty: there are none.
std::string DescribeGpuMemory(const JobPlan& plan);

// Returns text like "memory allows at most 2 of 4 devices to be planned to
// train"; empty: memory allows what the job asks for.
std::string DescribeRoleLimits(const JobPlan& plan, const JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_JOB_PLAN_H_
