// The steps of a run's preparation that the head and a member share.
#ifndef FGNN_SCHEDULER_RUN_PREPARE_RUN_H_
#define FGNN_SCHEDULER_RUN_PREPARE_RUN_H_

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/planning/job_plan.h"
#include "scheduler/run/device_planner.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_memory.h"

namespace fgnn {

// Has the dataset validated, and reads its sizes. Logs its warnings.
absl::StatusOr<RunDataset> OpenDataset(RunContext& run);

// Measures the job's executors, for PlanSegment() and the run's findings. The
// run has its dataset, and its executors are registered.
absl::StatusOr<PlanInput> MeasureExecutors(RunContext& run,
                                           DevicePlanner& planner);

// Plans the job's segment by what MeasureExecutors() has returned. Reserves its
// memory. The run knows the shares of its hosts. ResourceExhausted: see
// PlanJob().
absl::StatusOr<SegmentOptions> PlanSegment(RunContext& run, PlanInput input,
                                           RunMemory& memory);

// The value of cache.policy with which samplers count while they sample.
inline constexpr std::string_view kOnlinePolicy = "online";

// Returns the key of the order by which trainers cache; 0: there is none yet,
// or trainers do not cache. `begins`: called before vertices are ranked by
// counts, which may take long.
absl::StatusOr<uint64_t> RankForCaches(RunContext& run,
                                       const SegmentOptions& segment,
                                       absl::FunctionRef<void()> begins);

// Makes the segment, plans the devices, and attaches all daemons.
absl::Status AttachAll(RunContext& run, DevicePlanner& planner,
                       const SegmentOptions& segment);

// Waits until trainers have published the job's first weights.
absl::Status WaitForFirstWeights(RunContext& run, uint64_t version);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_PREPARE_RUN_H_
