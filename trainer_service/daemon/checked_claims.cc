#include "trainer_service/daemon/checked_claims.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// The most times that a batch may arrive damaged. A sampler makes the same
// bytes again; if they are damaged so often, the machine is at fault.
constexpr int kMostRejections = 3;

}  // namespace

CheckedClaims::CheckedClaims(Segment* segment, OwnerIndex owner,
                             TrainerReport report)
    : job_key_(segment->options().job_key),
      shares_inputs_(segment->options().shares_inputs()),
      report_(std::move(report)),
      queue_(segment, owner),
      board_(segment, owner) {}

absl::StatusOr<std::optional<ClaimedBatch>> CheckedClaims::Claim(
    BatchSeq first, BatchSeq last, std::optional<uint32_t> home_part) {
  while (true) {
    FGNN_ASSIGN_OR_RETURN(std::optional<ReadSlot> slot,
                          queue_.TryClaimForReading(first, last, home_part));
    if (!slot.has_value()) return std::nullopt;
    FGNN_ASSIGN_OR_RETURN(std::optional<ClaimedBatch> batch,
                          Check(*std::move(slot)));
    if (batch.has_value()) return batch;
  }
}

absl::StatusOr<std::optional<ClaimedBatch>> CheckedClaims::ClaimPart(
    const BatchPart& task) {
  FGNN_ASSIGN_OR_RETURN(std::optional<ReadSlot> slot,
                        queue_.TryClaimPart(task));
  if (!slot.has_value()) return std::nullopt;
  return Check(*std::move(slot));
}

// Returns the checked batch. Returns nullopt if the batch is done or damaged;
// its slot is free then.
absl::StatusOr<std::optional<ClaimedBatch>> CheckedClaims::Check(
    ReadSlot slot) {
  const TaskNumber number = slot.task();
  if (board_.IsDone(slot.batch_part())) {
    FGNN_RETURN_IF_ERROR(std::move(slot).Release());
    return std::nullopt;
  }
  // While this trainer holds the slot and the batch is not done, the step stays
  // open.
  absl::StatusOr<TaskView> task = ReadTask(slot.block(), job_key_);
  if (task.ok() && BatchPart{task->seq, task->part} != slot.batch_part()) {
    task = absl::DataLossError(absl::StrCat("the block holds part ", task->part,
                                            " of batch ", task->seq.value()));
  }
  if (!task.ok()) {
    FGNN_RETURN_IF_ERROR(Reject(std::move(slot), task.status()));
    return std::nullopt;
  }
  task->shares_inputs = shares_inputs_;
  ClaimedBatch batch{.slot = std::move(slot), .task = *task};
  const MutexLock lock(&mutex_);
  rejections_.erase(number);
  return batch;
}

absl::Status CheckedClaims::Reject(ReadSlot slot, const absl::Status& reason) {
  const BatchSeq seq = slot.seq();
  int times = 0;
  {
    const MutexLock lock(&mutex_);
    times = ++rejections_[slot.task()];
  }
  if (TrainingTotals* const totals = report_.totals) {
    totals->AddDamaged();
  }
  LogWarning("job {}: batch {} is damaged and will be sampled again: {}",
             report_.job_id, seq.value(), MessageOf(reason));
  FGNN_RETURN_IF_ERROR(std::move(slot).Reject());
  if (times < kMostRejections) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "batch ", seq.value(), " arrived damaged ", times,
      " times: ", MessageOf(reason), "; check the machine's memory"));
}

}  // namespace fgnn
