// Calls of a job that any one of its executors can answer: profiles and
// checkpoints.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_CALLS_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_CALLS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/planning/job_plan.h"
#include "shared/base/files/guarded_path.h"
#include "shared/device/device.h"

namespace fgnn {

// Not thread-safe: for the job's thread alone.
class JobCalls {
 public:
  // Borrows the caller.
  explicit JobCalls(ExecutorCaller* caller) : caller_(caller) {}

  // Has a sampler on each kind of device measure the batches, side by side: in
  // the job they will work at once too. Returns the profiles in the order of
  // KindsWith(kSampler).
  absl::StatusOr<std::vector<SamplingProfile>> ProfileSampling(
      uint32_t num_batches);
  // `hops` are the sizes that ProfileSampling() found.
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::vector<HopSize>& hops);
  // Saves the weights of `version`, which has to be the newest one still.
  // `folder`: the folder of the path. FailedPrecondition: another one is there.
  absl::Status SaveCheckpoint(const std::filesystem::path& path,
                              const FolderId& folder, uint64_t version,
                              uint32_t epochs_done,
                              const std::string& run_state);
  // Has any trainer, attached or not, read the checkpoint.
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path);
  // Has a trainer publish the checkpoint as the segment's first weights.
  // Returns a warning for the job's user; empty: there is none.
  absl::StatusOr<std::string> LoadCheckpoint(const std::filesystem::path& path);
  // Returns which other hosts of the job the exchange reaches by now; nothing
  // if it is not attached. Waits for no exchange.
  absl::StatusOr<std::vector<HostReach>> ReadReach();

 private:
  // Has one sampler of each kind measure. A profile whose sampler was lost is
  // Unavailable.
  absl::StatusOr<std::vector<absl::StatusOr<SamplingProfile>>> ProfileTogether(
      const std::vector<DeviceKind>& kinds, uint32_t num_batches);

  ExecutorCaller* const caller_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_CALLS_H_
