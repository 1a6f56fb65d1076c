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
// The same of ends of epochs whose lines could not be written, for another
// reason than a full disk.
constexpr int kLostWrites = 3;
// Bytes of lines that are held for a full disk.
constexpr size_t kMostHeldBytes = 16 << 20;

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
  // Training is closed, so they stay the newest.
  const uint64_t version = board().version().value_or(0);
  const absl::StatusOr<std::string> state = State();
  const absl::Status status = state.ok()
                                  ? executors_.calls().SaveCheckpoint(
                                        path, version, epochs_done, *state)
                                  : state.status();
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

// The same of metrics.jsonl and batches.crc: their lines are held meanwhile.
absl::Status JobRun::WriteLinesTolerantly(const std::string& line) {
  const absl::Status written = folder_->AppendMetrics(line);
  if (written.ok()) {
    if (writes_lost_ > 0) LogInfo("job {}: its lines are written", job_.id);
    writes_lost_ = 0;
    return absl::OkStatus();
  }
  ++writes_lost_;
  if (writes_lost_ == 1) {
    LogError("job {}: its newest lines are held in memory: {}", job_.id,
             MessageOf(written));
  }
  // Epochs of milliseconds say nothing of how long a disk stays full: what is
  // held is the limit.
  if (absl::IsResourceExhausted(written) || writes_lost_ < kLostWrites) {
    return CheckHeldLines(written);
  }
  return written;
}

absl::Status JobRun::CheckHeldLines(const absl::Status& written) const {
  const size_t held = folder_->held_bytes() +
                      (timeline_.has_value() ? timeline_->held_bytes() : 0);
  return held <= kMostHeldBytes ? absl::OkStatus() : written;
}

// A run that went on from before its best epoch may have found that of another
// one, which was the best until then.
absl::StatusOr<bool> JobRun::FindBestWeights() {
  const uint32_t epochs = *best_epoch_ + 1;
  const auto is_of_it =
      [&](const std::filesystem::path& path) -> absl::StatusOr<bool> {
    const absl::StatusOr<CheckpointProfile> profile =
        executors_.calls().DescribeCheckpoint(path);
    if (absl::IsUnavailable(profile.status())) return profile.status();
    FGNN_RETURN_IF_ERROR(executors_.Tick());  // Cancelled, or beyond repair.
    return profile.ok() && profile->epochs_done == epochs &&
           profile->seed == spec_.training.seed;
  };
  FGNN_ASSIGN_OR_RETURN(const bool is_best,
                        is_of_it(folder_->BestCheckpoint()));
  if (is_best) return true;
  const std::filesystem::path path = folder_->EpochCheckpoint(epochs);
  FGNN_ASSIGN_OR_RETURN(const bool is_there, is_of_it(path));
  if (is_there) {
    LogWarning(
        "job {}: best.safetensors was not of epoch {}, the best one; {} "
        "takes its place",
        job_.id, epochs, path.string());
    FGNN_RETURN_IF_ERROR(folder_->MakeBest(path));
    return true;
  }
  test_warning_ = absl::StrCat(
      "nothing was tested: best.safetensors is not of epoch ", epochs,
      ", the best one, whose checkpoint is gone or cannot be read");
  LogError("job {}: {}", job_.id, test_warning_);
  return false;
}

}  // namespace fgnn
