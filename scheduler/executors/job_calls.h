// What a job asks of any one of its executors: profiles and checkpoints.
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
  // `hops`: as ProfileSampling() found them.
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::vector<HopSize>& hops);
  // Saves the weights while they are still the newest: `version`.
  absl::Status SaveCheckpoint(const std::filesystem::path& path,
                              uint64_t version, uint32_t epochs_done,
                              const std::string& run_state);
  // By any trainer, attached or not.
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path);
  // As the segment's first weights.
  absl::Status LoadCheckpoint(const std::filesystem::path& path);

 private:
  ExecutorCaller* const caller_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_CALLS_H_
