// JobExecutors: a sampler reads the dataset, and daemons are attached to the
// contents that it read and to no others.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/host/job_executors.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<ValidatedDataset> JobExecutors::ValidateDataset() {
  bool was_lost = false;
  absl::Status answered;  // By the sampler that was asked last.
  const absl::StatusOr<ValidatedDataset> validated =
      CallAny<absl::StatusOr<ValidatedDataset>>(
          ExecutorRole::kSampler, /*attached=*/false,
          [&](const DaemonAddress& sampler) {
            auto answer = calls_->ValidateDataset(
                sampler.socket, job_.spec_bytes,
                {.timeout = kLongCall,
                 .keep_going = [this] { return MayGoOn(); }});
            answered = answer.status();
            was_lost |= IsLost(answered);
            return answer;
          });
  if (validated.ok()) {
    FGNN_RETURN_IF_ERROR(KeepDataset(*validated));
    return validated;
  }
  // Not of a job that was told to end.
  FGNN_RETURN_IF_ERROR(keep_going_());
  // A wrong value is the dataset's, whichever sampler found it.
  const bool is_found = !answered.ok() && !IsLost(answered);
  const absl::Status why = is_found ? answered : validated.status();
  if (!was_lost) return why;
  // What is mapped and cut short ends the process that reads it (SIGBUS).
  return Annotate(
      why, absl::StrCat("a sampler died while it validated ", job_.dataset,
                        ", which may have changed meanwhile"));
}

absl::Status JobExecutors::KeepDataset(const ValidatedDataset& validated) {
  if (dataset_.content != 0 && dataset_.content != validated.content) {
    return absl::FailedPreconditionError(absl::StrCat(
        "dataset ", job_.dataset, " has other contents (fingerprint ",
        absl::Hex(validated.content, absl::kZeroPad16),
        ") than the job began with (",
        absl::Hex(dataset_.content, absl::kZeroPad16),
        "); put its files back and resume the run, or submit a new job"));
  }
  dataset_ = validated;
  return absl::OkStatus();
}

// Daemons open the dataset when they are attached. False: no sampler can tell
// yet whether the dataset is what it was.
absl::StatusOr<bool> JobExecutors::IsDatasetAsBefore() {
  if (dataset_.content == 0 || FingerprintOf(job_.dataset) == dataset_.state) {
    return true;
  }
  const std::vector<DaemonAddress> samplers =
      host_->Find(job_.job_id, ExecutorRole::kSampler, /*attached=*/false);
  if (samplers.empty()) return false;
  const DaemonAddress& sampler = samplers.front();
  LogInfo("job {}: files of {} have changed; {} reads them", job_.job_id,
          job_.dataset, sampler.name);
  const absl::StatusOr<ValidatedDataset> validated = calls_->ValidateDataset(
      sampler.socket, job_.spec_bytes,
      {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }});
  FGNN_RETURN_IF_ERROR(MayGoOn());
  if (IsLost(validated.status())) {
    LogWarning("{} was lost on the way: {}; trying again", sampler.name,
               MessageOf(validated.status()));
    return false;
  }
  FGNN_RETURN_IF_ERROR(Annotate(validated.status(), sampler.name));
  FGNN_RETURN_IF_ERROR(KeepDataset(*validated));
  return true;
}

}  // namespace fgnn
