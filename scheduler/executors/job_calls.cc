#include "scheduler/executors/job_calls.h"

#include "scheduler/executors/daemon_address.h"

namespace fgnn {

absl::StatusOr<SamplingProfile> JobCalls::ProfileSampling(
    uint32_t num_batches) {
  return caller_->CallAny(ExecutorRole::kSampler, /*attached=*/false,
                          [&](const DaemonAddress& sampler) {
                            return caller_->calls().ProfileSampling(
                                sampler.socket, caller_->job().spec_bytes,
                                num_batches, caller_->WhileItMayGoOn());
                          });
}

absl::StatusOr<TrainingProfile> JobCalls::ProfileTraining(
    const std::vector<HopSize>& hops) {
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/false,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().ProfileTraining(
                                trainer.socket, caller_->job().spec_bytes, hops,
                                caller_->WhileItMayGoOn());
                          });
}

absl::Status JobCalls::SaveCheckpoint(const std::filesystem::path& path,
                                      uint64_t version, uint32_t epochs_done,
                                      const std::string& run_state) {
  const SaveCheckpointCall request = {.job_id = caller_->job().job_id,
                                      .path = path,
                                      .version = version,
                                      .epochs_done = epochs_done,
                                      .run_state = run_state};
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/true,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().SaveCheckpoint(
                                trainer.socket, request,
                                caller_->WhileTicking());
                          });
}

absl::StatusOr<CheckpointProfile> JobCalls::DescribeCheckpoint(
    const std::filesystem::path& path) {
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/false,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().DescribeCheckpoint(
                                trainer.socket, path,
                                caller_->WhileItMayGoOn());
                          });
}

absl::Status JobCalls::LoadCheckpoint(const std::filesystem::path& path) {
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/true,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().LoadCheckpoint(
                                trainer.socket, caller_->job().job_id, path,
                                caller_->WhileTicking());
                          });
}

}  // namespace fgnn
