// The checkpoints that a job writes where it stops for them.
#include <filesystem>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_run.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Checkpoints that fail in a row before the job does.
constexpr int kLostCheckpoints = 3;

}  // namespace

absl::Status JobRun::CheckpointWithin(uint32_t epoch, uint64_t version) {
  EnterPhase(absl::StrCat("saving step ", version));
  bool saved = false;
  FGNN_RETURN_IF_ERROR(
      SaveTolerantly(folder_->StepCheckpoint(epoch, version), epoch, saved));
  if (saved) {
    FGNN_RETURN_IF_ERROR(
        folder_->PruneCheckpoints(spec_.training.keep_checkpoints));
  }
  EnterPhase(absl::StrCat("epoch ", epoch + 1));
  return absl::OkStatus();
}

absl::Status JobRun::Checkpoint(uint32_t epoch, bool is_best) {
  const auto best_before = std::pair(best_valid_accuracy_, best_epoch_);
  if (is_best) {
    best_valid_accuracy_ = valid_accuracy_;
    best_epoch_ = epoch;
  }
  const bool is_last = IsOver();
  const uint64_t steps = spec_.training.checkpoint_steps;
  const bool is_due =
      is_last || IsDue(spec_.training.checkpoint_every, epoch) ||
      (steps > 0 && (epoch + 1) * segment_.steps_per_epoch() % steps == 0);
  if (!is_due && !is_best) return absl::OkStatus();
  EnterPhase(absl::StrCat("saving epoch ", epoch + 1));
  const std::filesystem::path path =
      is_due ? folder_->EpochCheckpoint(epoch + 1) : folder_->BestCheckpoint();
  bool saved = false;
  FGNN_RETURN_IF_ERROR(SaveTolerantly(path, epoch + 1, saved));
  if (!saved) std::tie(best_valid_accuracy_, best_epoch_) = best_before;
  if (saved && is_due) {
    if (is_best) FGNN_RETURN_IF_ERROR(folder_->MakeBest(path));
    FGNN_RETURN_IF_ERROR(
        folder_->PruneCheckpoints(spec_.training.keep_checkpoints));
  }
  if (is_last && !saved) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the last checkpoint could not be written to ",
        folder_->path().string(), "; see the log of the trainers"));
  }
  return absl::OkStatus();
}

// A full disk must not cost the work of hours: training goes on, and the next
// checkpoint is tried.
absl::Status JobRun::SaveTolerantly(const std::filesystem::path& path,
                                    uint32_t epochs_done, bool& saved) {
  FGNN_ASSIGN_OR_RETURN(const std::string state, State());
  // Training is closed, so they stay the newest.
  const uint64_t version = board().version().value_or(0);
  const absl::Status status =
      executors_.SaveCheckpoint(path, version, epochs_done, state);
  saved = status.ok();
  if (saved) {
    checkpoints_lost_ = 0;
    if (path != folder_->BestCheckpoint()) saved_version_ = version;
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(executors_.Tick());  // Cancelled, or beyond repair.
  ++checkpoints_lost_;
  LogError("job {}: checkpoint {}: {}", job_.id, path.string(),
           MessageOf(status));
  const bool is_last = epochs_done == spec_.training.epochs;
  if (checkpoints_lost_ < kLostCheckpoints && !is_last) return absl::OkStatus();
  return Annotate(status, path.string());
}

}  // namespace fgnn
