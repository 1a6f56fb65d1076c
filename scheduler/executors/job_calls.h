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

namespace fgnn {

// Not thread-safe: for the job's thread alone.
class JobCalls {
 public:
  // Borrows the caller.
  explicit JobCalls(ExecutorCaller* caller) : caller_(caller) {}

  absl::StatusOr<SamplingProfile> ProfileSampling(uint32_t num_batches);
  // `hops` are the sizes that ProfileSampling() found.
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::vector<HopSize>& hops);
  // Saves the weights of `version`, which has to be the newest one still.
  absl::Status SaveCheckpoint(const std::filesystem::path& path,
                              uint64_t version, uint32_t epochs_done,
                              const std::string& run_state);
  // Has any trainer, attached or not, read the checkpoint.
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path);
  // Has a trainer publish the checkpoint as the segment's first weights.
  absl::Status LoadCheckpoint(const std::filesystem::path& path);

 private:
  ExecutorCaller* const caller_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_CALLS_H_
