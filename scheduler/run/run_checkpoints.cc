#include "scheduler/run/run_checkpoints.h"

#include "absl/strings/str_cat.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/figures/run_state.h"
#include "shared/base/status.h"
#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Number of failed checkpoints in a row after which the job fails.
constexpr int kLostCheckpoints = 3;

std::string WayOut(absl::StatusCode why, const std::string& run_dir,
                   const std::string& job_id) {
  switch (why) {
    case absl::StatusCode::kResourceExhausted:
      return absl::StrCat("make room on the disk of ", run_dir);
    case absl::StatusCode::kPermissionDenied:
      return absl::StrCat("let the service's user write to ", run_dir);
    case absl::StatusCode::kNotFound:
      return absl::StrCat("make the folder ", run_dir, "/checkpoints again");
    default:
      return absl::StrCat("'fgnn logs ", job_id, "' says more");
  }
}

}  // namespace

absl::Status RunCheckpoints::SaveWithin(uint32_t epoch, uint64_t version) {
  progress_.EnterPhase(absl::StrCat("saving step ", version));
  bool saved = false;
  FGNN_RETURN_IF_ERROR(SaveTolerantly(
      run_.started->folder.checkpoints().OfStep(epoch, version), epoch, saved));
  if (saved) {
    const absl::Status pruned = run_.started->folder.PruneCheckpoints(
        run_.spec.training.keep_checkpoints);
    // The next checkpoint tells of a folder that has gone meanwhile.
    if (!absl::IsNotFound(pruned)) FGNN_RETURN_IF_ERROR(pruned);
  }
  progress_.EnterPhase(absl::StrCat("epoch ", epoch + 1));
  return absl::OkStatus();
}

absl::Status RunCheckpoints::SaveEpoch(uint32_t epoch, bool is_best) {
  const RunScores::Best best_before = scores_.best();
  if (is_best) scores_.SetBest({.score = scores_.valid(), .epoch = epoch});
  const TrainingSpec& training = run_.spec.training;
  const CheckpointFolder& checkpoints = run_.started->folder.checkpoints();
  const bool is_last = scores_.IsOver(run_.started->epochs_done);
  const uint64_t steps = training.checkpoint_steps;
  const bool is_due =
      is_last || run_.IsDue(training.checkpoint_every, epoch) ||
      (steps > 0 &&
       JobShape(run_.started->segment).StepsOfEpoch(epoch).end.value() %
               steps ==
           0);
  if (!is_due && !is_best) return absl::OkStatus();
  progress_.EnterPhase(absl::StrCat("saving epoch ", epoch + 1));
  const std::filesystem::path path =
      is_due ? checkpoints.OfEpoch(epoch + 1) : checkpoints.Best();
  bool saved = false;
  FGNN_RETURN_IF_ERROR(SaveTolerantly(path, epoch + 1, saved));
  if (!saved) scores_.SetBest(best_before);
  if (saved && is_due) {
    absl::Status kept = is_best ? checkpoints.MakeBest(path) : absl::OkStatus();
    if (kept.ok()) {
      kept = run_.started->folder.PruneCheckpoints(training.keep_checkpoints);
    }
    if (!kept.ok()) {
      // The next checkpoint tells of a folder that has gone meanwhile.
      if (is_last || !absl::IsNotFound(kept)) return kept;
      scores_.SetBest(best_before);
    }
  }
  if (is_last && !saved) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the last checkpoint could not be written to ",
        run_.started->folder.path().string(), "; see the log of the trainers"));
  }
  return absl::OkStatus();
}

// A checkpoint must not rely on lines that are not on disk, so they are written
// and synced first.
absl::StatusOr<std::string> RunCheckpoints::State() {
  FGNN_RETURN_IF_ERROR(run_.started->folder.Flush());
  FGNN_ASSIGN_OR_RETURN(const RunFolder::Lengths lengths,
                        run_.started->folder.Sync());
  return RunStateToJson(
      {.batches_per_epoch = run_.started->segment.batches_per_epoch,
       .next_seq = records_.next_seq(),
       .dataset_content = run_.dataset->validated.content,
       .batch_dependency = run_.spec.sampling.batch_dependency,
       .matched_window = run_.spec.sampling.matched_window(),
       .seeds = run_.peers.seeds,
       .parts = run_.started->segment.parts,
       .book = run_.started->segment.book,
       .sum = records_.sum(),
       .valid_score = scores_.valid(),
       .best_valid_score = scores_.best().score,
       .best_epoch = scores_.best().epoch,
       .metrics_bytes = lengths.metrics_bytes,
       .digests_bytes = lengths.digests_bytes});
}

absl::Status RunCheckpoints::Save(const std::filesystem::path& path,
                                  uint64_t version, uint32_t epochs_done) {
  // A trainer reaches the folder by its name, and refuses another one that has
  // the name by then. It is held meanwhile, so that no other gets its id.
  FGNN_RETURN_IF_ERROR(run_.started->folder.held().CheckName());
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held,
                        run_.started->folder.checkpoints().Hold());
  FGNN_ASSIGN_OR_RETURN(const FolderId folder, held.Id());
  FGNN_ASSIGN_OR_RETURN(const std::string state, State());
  return run_.executors.calls().SaveCheckpoint(path, folder, version,
                                               epochs_done, state);
}

// A full disk must not cost the work of hours: training goes on, and the next
// checkpoint is tried again.
absl::Status RunCheckpoints::SaveTolerantly(const std::filesystem::path& path,
                                            uint32_t epochs_done, bool& saved) {
  // Training is closed, so this version stays the newest.
  const uint64_t version = run_.board().version().value_or(0);
  const bool is_last =
      epochs_done == run_.spec.training.epochs || scores_.IsOver(epochs_done);
  absl::Status status = Save(path, version, epochs_done);
  if (!status.ok() && (is_last || lost_ + 1 >= kLostCheckpoints)) {
    ShortageWait wait(run_.job.id, absl::StrCat("checkpoint ", path.string()),
                      run_.environment.clock,
                      [this] { return run_.executors.Tick(); });
    while (!status.ok()) {
      status = wait.BeforeNextTry(status);
      if (!status.ok()) break;
      status = Save(path, version, epochs_done);
    }
  }
  saved = status.ok();
  if (saved) {
    TellOfRecovery();
    lost_ = 0;
    if (path != run_.started->folder.checkpoints().Best())
      saved_version_ = version;
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());  // Cancelled, or failed.
  ++lost_;
  if (RunTotals* const totals = run_.environment.totals) {
    totals->AddFailedCheckpoint();
  }
  LogError("job {}: checkpoint {}: {}", run_.job.id, path.string(),
           MessageOf(status));
  TellOfLoss(path, status);
  if (lost_ < kLostCheckpoints && !is_last) return absl::OkStatus();
  return Annotate(status, path.string());
}

void RunCheckpoints::TellOfLoss(const std::filesystem::path& path,
                                const absl::Status& why) {
  if (why.code() == told_) return;
  told_ = why.code();
  progress_.ShowCheckpoints(absl::StrCat(
      "checkpoint ", path.filename().string(), " could not be written: ",
      MessageOf(why), "; training goes on, but the job fails after ",
      kLostCheckpoints, " of them in a row, or with the last one; ",
      WayOut(why.code(), run_.started->folder.path().string(), run_.job.id)));
}

void RunCheckpoints::TellOfRecovery() {
  if (told_ == absl::StatusCode::kOk) return;
  told_ = absl::StatusCode::kOk;
  progress_.ShowCheckpoints(
      absl::StrCat("checkpoints are written again; ", lost_,
                   lost_ == 1 ? " could not be" : " in a row could not be"));
}

absl::Status RunCheckpoints::SaveHeld(uint64_t version) {
  // Before its first step the job starts anew.
  if (version == 0 || saved_version_ == version) return absl::OkStatus();
  progress_.EnterPhase(absl::StrCat("saving step ", version));
  const CheckpointFolder& checkpoints = run_.started->folder.checkpoints();
  const JobShape shape(run_.started->segment);
  const StepNumber step(version);
  const bool whole_epochs =
      step == shape.StepsOfEpoch(shape.EpochOfStep(step)).begin;
  const std::filesystem::path path =
      whole_epochs ? checkpoints.OfEpoch(run_.started->epochs_done)
                   : checkpoints.OfStep(run_.started->epochs_done, version);
  FGNN_RETURN_IF_ERROR(Save(path, version, run_.started->epochs_done));
  saved_version_ = version;
  return run_.started->folder.PruneCheckpoints(
      run_.spec.training.keep_checkpoints);
}

// The metrics have an epoch's score before its checkpoint is written. So they
// do not tell whether that checkpoint failed and the best epoch stayed the
// earlier one. best.safetensors tells which epoch was last saved as the best
// one.
absl::Status RunCheckpoints::FindSavedBest() {
  if (!scores_.best().epoch.has_value()) return absl::OkStatus();
  const absl::StatusOr<CheckpointProfile> best =
      run_.executors.calls().DescribeCheckpoint(
          run_.started->folder.checkpoints().Best());
  if (absl::IsUnavailable(best.status())) return best.status();
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());  // Cancelled, or failed.
  if (absl::IsNotFound(best.status())) {
    const SegmentOptions& segment = run_.started->segment;
    const HeldFolder& folder = run_.started->folder.held();
    return folder.Named(scores_.ForgetBestSince(
        JobShape(segment).EpochOfStep(StepNumber(segment.first_version)),
        folder.path()));
  }
  // A run that went on from before its best epoch trains that epoch again. A
  // damaged file tells nothing either.
  if (!best.ok() || best->seed != run_.spec.training.seed) {
    return absl::OkStatus();
  }
  const absl::StatusOr<RunState> state = RunStateFromJson(best->run_state);
  if (!state.ok() || !state->best_epoch.has_value() ||
      *state->best_epoch + 1 != best->epochs_done ||
      *state->best_epoch >= run_.started->epochs_done) {
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const Scores scores,
                        run_.started->folder.ScoresOf(*state->best_epoch));
  // With another score the file is of another run, which was trained
  // differently.
  if (!scores.compared().has_value() ||
      scores.compared() != state->best_valid_score) {
    return absl::OkStatus();
  }
  scores_.SetBest({.score = scores.compared(), .epoch = state->best_epoch});
  return absl::OkStatus();
}

absl::StatusOr<bool> RunCheckpoints::IsOf(const std::filesystem::path& path,
                                          uint32_t epochs) {
  const absl::StatusOr<CheckpointProfile> profile =
      run_.executors.calls().DescribeCheckpoint(path);
  if (absl::IsUnavailable(profile.status())) return profile.status();
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());  // Cancelled, or failed.
  return profile.ok() && profile->epochs_done == epochs &&
         profile->seed == run_.spec.training.seed;
}

// A run that went on from before its best epoch may find the file of another
// epoch that was the best until then.
absl::StatusOr<std::string> RunCheckpoints::FindBestWeights() {
  const CheckpointFolder& checkpoints = run_.started->folder.checkpoints();
  const uint32_t epochs = *scores_.best().epoch + 1;
  FGNN_ASSIGN_OR_RETURN(const bool is_best, IsOf(checkpoints.Best(), epochs));
  if (is_best) return "";
  const std::filesystem::path path = checkpoints.OfEpoch(epochs);
  FGNN_ASSIGN_OR_RETURN(const bool is_there, IsOf(path, epochs));
  if (is_there) {
    LogWarning(
        "job {}: best.safetensors was not of epoch {}, the best one; {} "
        "takes its place",
        run_.job.id, epochs, path.string());
    FGNN_RETURN_IF_ERROR(checkpoints.MakeBest(path));
    return "";
  }
  std::string why = absl::StrCat(
      "nothing was tested: best.safetensors is not of epoch ", epochs,
      ", the best one, whose checkpoint is gone or cannot be read");
  LogError("job {}: {}", run_.job.id, why);
  return why;
}

}  // namespace fgnn
