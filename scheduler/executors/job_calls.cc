#include "scheduler/executors/job_calls.h"

#include <chrono>
#include <utility>

#include "scheduler/executors/call_together.h"
#include "scheduler/executors/daemon_address.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<std::vector<absl::StatusOr<SamplingProfile>>>
JobCalls::ProfileTogether(const std::vector<DeviceKind>& kinds,
                          uint32_t num_batches) {
  std::vector<DaemonAddress> samplers;
  for (const DeviceKind kind : kinds) {
    FGNN_ASSIGN_OR_RETURN(
        const std::vector<DaemonAddress> found,
        caller_->WaitForSome(ExecutorRole::kSampler, /*attached=*/false, kind));
    samplers.push_back(found.front());
  }
  FGNN_RETURN_IF_ERROR(caller_->OpenEach(samplers));
  std::vector<absl::StatusOr<SamplingProfile>> profiles(
      kinds.size(), absl::UnavailableError("not begun"));
  FGNN_RETURN_IF_ERROR(CallTogether(
      kinds.size(),
      [&](size_t i, const KeepGoing& keep_going) {
        profiles[i] = caller_->calls().ProfileSampling(
            samplers[i].socket,
            {.job_id = caller_->job().job_id, .num_batches = num_batches},
            {.timeout = kLongCall, .keep_going = keep_going});
      },
      [this] { return caller_->MayGoOn(); }));
  for (size_t i = 0; i < kinds.size(); ++i) {
    const absl::Status& status = profiles[i].status();
    if (status.ok() || ExecutorCaller::IsLost(status)) continue;
    FGNN_RETURN_IF_ERROR(caller_->MayGoOn());
    return Annotate(status, samplers[i].name);
  }
  return profiles;
}

absl::StatusOr<std::vector<SamplingProfile>> JobCalls::ProfileSampling(
    uint32_t num_batches) {
  const std::vector<DeviceKind> kinds =
      KindsWith(ExecutorRole::kSampler, caller_->job().placements);
  std::vector<absl::StatusOr<SamplingProfile>> together(
      kinds.size(), absl::UnavailableError("not begun"));
  if (kinds.size() > 1) {
    FGNN_ASSIGN_OR_RETURN(together, ProfileTogether(kinds, num_batches));
  }
  std::vector<SamplingProfile> profiles;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!together[i].ok()) {
      together[i] = caller_->CallAny(
          ExecutorRole::kSampler, /*attached=*/false,
          [&](const DaemonAddress& sampler) {
            return caller_->calls().ProfileSampling(
                sampler.socket,
                {.job_id = caller_->job().job_id, .num_batches = num_batches},
                caller_->WhileItMayGoOn());
          },
          kinds[i]);
      FGNN_RETURN_IF_ERROR(together[i].status());
    }
    profiles.push_back(*std::move(together[i]));
  }
  return profiles;
}

absl::StatusOr<TrainingProfile> JobCalls::ProfileTraining(
    const std::vector<HopSize>& hops) {
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/false,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().ProfileTraining(
                                trainer.socket,
                                {.job_id = caller_->job().job_id, .hops = hops},
                                caller_->WhileItMayGoOn());
                          });
}

absl::Status JobCalls::SaveCheckpoint(const std::filesystem::path& path,
                                      const FolderId& folder, uint64_t version,
                                      uint32_t epochs_done,
                                      const std::string& run_state) {
  const SaveCheckpointRequest request = {.job_id = caller_->job().job_id,
                                         .path = path,
                                         .folder = folder,
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

absl::StatusOr<std::vector<HostReach>> JobCalls::ReadReach() {
  constexpr std::chrono::seconds kAnswersWithin{1};
  for (const DaemonAddress& exchange :
       caller_->daemons().Find(ExecutorRole::kExchange, /*attached=*/true)) {
    absl::StatusOr<std::vector<HostReach>> reaches = caller_->calls().ReadReach(
        exchange.socket, caller_->job().job_id,
        {.timeout = kAnswersWithin, .keep_going = nullptr});
    // It may be about to attach, or to end. The caller looks again.
    const bool is_not_there = ExecutorCaller::IsLost(reaches.status()) ||
                              absl::IsFailedPrecondition(reaches.status()) ||
                              absl::IsDeadlineExceeded(reaches.status());
    if (!is_not_there) return reaches;
  }
  return std::vector<HostReach>();
}

absl::StatusOr<std::string> JobCalls::LoadCheckpoint(
    const std::filesystem::path& path) {
  return caller_->CallAny(ExecutorRole::kTrainer, /*attached=*/true,
                          [&](const DaemonAddress& trainer) {
                            return caller_->calls().LoadCheckpoint(
                                trainer.socket, caller_->job().job_id, path,
                                caller_->WhileTicking());
                          });
}

}  // namespace fgnn
