#include "scheduler/executors/job_dataset_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/executors/daemon_address.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/telemetry/log.h"

namespace fgnn {

JobDatasetCheck::JobDatasetCheck(ExecutorCaller* caller)
    : caller_(caller),
      dataset_{
          .state = 0, .content = caller->job().dataset_content, .warning = ""} {
}

absl::StatusOr<ValidatedDataset> JobDatasetCheck::Validate() {
  bool was_lost = false;
  absl::Status answered;  // Answer of the sampler that was asked last.
  const absl::StatusOr<ValidatedDataset> validated = caller_->CallAny(
      ExecutorRole::kSampler, /*attached=*/false,
      [&](const DaemonAddress& sampler) {
        auto answer = caller_->calls().ValidateDataset(
            sampler.socket, caller_->job().job_id, caller_->WhileItMayGoOn());
        answered = answer.status();
        was_lost |= ExecutorCaller::IsLost(answered);
        return answer;
      });
  if (validated.ok()) {
    FGNN_RETURN_IF_ERROR(Keep(*validated));
    return validated;
  }
  // If the job was told to end, that is the result.
  FGNN_RETURN_IF_ERROR(caller_->KeepsGoing());
  // An error that a sampler returned is the dataset's fault.
  const bool is_found = !answered.ok() && !ExecutorCaller::IsLost(answered);
  const absl::Status why = is_found ? answered : validated.status();
  if (!was_lost) return why;
  // A mapped file that shrinks ends the process that reads it (SIGBUS).
  return Annotate(why, absl::StrCat("a sampler died while it validated ",
                                    caller_->job().spec.dataset,
                                    ", which may have changed meanwhile"));
}

absl::Status JobDatasetCheck::Keep(const ValidatedDataset& validated) {
  if (dataset_.content != 0 && dataset_.content != validated.content) {
    return absl::FailedPreconditionError(absl::StrCat(
        "dataset ", caller_->job().spec.dataset,
        " has other contents (fingerprint ",
        absl::Hex(validated.content, absl::kZeroPad16),
        ") than the job began with (",
        absl::Hex(dataset_.content, absl::kZeroPad16),
        "); put its files back and resume the run, or submit a new job"));
  }
  dataset_ = validated;
  return absl::OkStatus();
}

// Daemons open the dataset when they are attached, so it is checked before
// that.
absl::StatusOr<bool> JobDatasetCheck::IsAsBefore() {
  if (dataset_.content == 0 ||
      FingerprintOf(caller_->job().spec.dataset) == dataset_.state) {
    return true;
  }
  const std::vector<DaemonAddress> samplers =
      caller_->daemons().Find(ExecutorRole::kSampler, /*attached=*/false);
  if (samplers.empty()) return false;
  const DaemonAddress& sampler = samplers.front();
  LogInfo("job {}: files of {} have changed; {} reads them",
          caller_->job().job_id, caller_->job().spec.dataset, sampler.name);
  FGNN_RETURN_IF_ERROR(caller_->OpenEach({sampler}));
  const absl::StatusOr<ValidatedDataset> validated =
      caller_->calls().ValidateDataset(sampler.socket, caller_->job().job_id,
                                       caller_->WhileItMayGoOn());
  FGNN_RETURN_IF_ERROR(caller_->MayGoOn());
  if (ExecutorCaller::IsLost(validated.status())) {
    LogWarning("{} was lost on the way: {}; trying again", sampler.name,
               MessageOf(validated.status()));
    return false;
  }
  FGNN_RETURN_IF_ERROR(Annotate(validated.status(), sampler.name));
  FGNN_RETURN_IF_ERROR(Keep(*validated));
  return true;
}

}  // namespace fgnn
