#include "scheduler/run/run_start.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/files/take_over.h"
#include "scheduler/run/hosts/host_shares.h"
#include "scheduler/run/prepare_run.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Time between two tries while the store's disk is full.
constexpr std::chrono::milliseconds kTryStoreEvery{500};

}  // namespace

absl::Status RunStart::Begin() {
  RunProgress& progress = parts_.progress;
  FGNN_RETURN_IF_ERROR(parts_.hosts.Take());
  progress.EnterPreparation("validating data");
  // A sampler validates the data while the other daemons start up.
  FGNN_RETURN_IF_ERROR(run_.executors.Start());
  FGNN_ASSIGN_OR_RETURN(run_.dataset, OpenDataset(run_));
  progress.ShowDataset(*run_.dataset);
  if (run_.hosts.size() <= 1) FGNN_RETURN_IF_ERROR(parts_.hosts.CheckRows());
  progress.EnterPreparation("starting daemons");
  FGNN_RETURN_IF_ERROR(run_.executors.WaitUntilRegistered());
  progress.EnterPreparation("measuring");
  FGNN_ASSIGN_OR_RETURN(PlanInput measured,
                        MeasureExecutors(run_, parts_.planner));
  FGNN_RETURN_IF_ERROR(ShareBySpeed(run_, parts_.hosts));
  FGNN_RETURN_IF_ERROR(ShareSeeds(run_, parts_.hosts));
  FGNN_ASSIGN_OR_RETURN(const SegmentOptions segment,
                        PlanSegment(run_, std::move(measured), parts_.memory));
  progress.ShowSize(segment);
  FGNN_ASSIGN_OR_RETURN(run_.started, OpenFolder(segment));
  if (run_.job.folder != FolderUse::kMake) FGNN_RETURN_IF_ERROR(PlanToGoOn());
  // The other hosts prepare while this one ranks and attaches.
  parts_.hosts.Prepare(run_.dataset->validated.content,
                       run_.started->segment.first_version);
  FGNN_RETURN_IF_ERROR(parts_.caches.Rank());
  FGNN_RETURN_IF_ERROR(Attach());
  FGNN_RETURN_IF_ERROR(
      WaitForFirstWeights(run_, run_.started->segment.first_version));
  FGNN_RETURN_IF_ERROR(parts_.hosts.WaitUntilPrepared());
  if (!run_.started->folder.is_entered()) FGNN_RETURN_IF_ERROR(EnterFolder());
  return parts_.records.OpenTimeline();
}

absl::Status RunStart::Attach() {
  RunProgress& progress = parts_.progress;
  progress.EnterPreparation("attaching daemons");
  FGNN_RETURN_IF_ERROR(AttachAll(run_, parts_.planner, run_.started->segment));
  if (run_.started->segment.first_version == 0) return absl::OkStatus();
  progress.EnterPreparation(
      absl::StrCat("loading ", point_->checkpoint.filename().string()));
  FGNN_ASSIGN_OR_RETURN(
      const std::string warning,
      run_.executors.calls().LoadCheckpoint(point_->checkpoint));
  if (!warning.empty()) {
    LogWarning("job {}: {}", run_.job.id, warning);
    progress.ShowCheckpoints(warning);
  }
  return absl::OkStatus();
}

absl::StatusOr<FoundPath> RunStart::FindByRights(
    const std::filesystem::path& run_dir) const {
  return FindRunFolderAs(
      {.user = ParseFileUser(run_.job.file_user), .name = run_.job.user},
      run_.environment.host->options().state_dir, run_dir);
}

absl::StatusOr<RunFolder> RunStart::KeepFolder(double seconds_before) const {
  if (run_.job.folder == FolderUse::kResume) {
    return absl::FailedPreconditionError(
        "it had not begun to write into the folder that it resumes");
  }
  return RunFolder::Keep(
      run_.job.run_dir, Record(seconds_before),
      [this](const std::filesystem::path& path) { return FindByRights(path); });
}

absl::StatusOr<bool> RunStart::TakeOver() {
  FGNN_ASSIGN_OR_RETURN(JobSegment* const kept,
                        run_.executors.FindKeptSegment());
  if (kept == nullptr) return false;
  const double seconds_before = SecondsBefore(run_.job.run_dir, run_.job.id);
  KeepSeedShares(run_);  // Before the folder's record is written again.
  absl::StatusOr<RunFolder> folder = KeepFolder(seconds_before);
  // A stopped queue cannot be opened again.
  absl::StatusOr<RunState> state =
      !folder.ok()              ? folder.status()
      : kept->queue().stopped() ? absl::FailedPreconditionError(
                                      "its daemons had begun to let go of it")
      : kept->options().places_after != run_.places_after()
          ? absl::FailedPreconditionError("its hosts have other shares now")
          : FindRunningState(kept->options(), kept->board(), *folder,
                             run_.job.options.digest);
  if (state.ok()) {
    const absl::Status cut =
        folder->TruncateTo({.metrics_bytes = state->metrics_bytes,
                            .digests_bytes = state->digests_bytes});
    if (!cut.ok()) state = cut;
  }
  if (!state.ok()) {
    LogWarning("job {}: cannot go on where it is: {}", run_.job.id,
               MessageOf(state.status()));
    run_.executors.Release();
    return false;
  }
  run_.started = StartedRun{
      .folder = *std::move(folder),
      .segment = kept->options(),
      .seconds_before = seconds_before,
      .epochs_done = static_cast<uint32_t>(
          JobShape(kept->options()).PlaceInEpoch(state->next_seq).epoch)};
  FGNN_RETURN_IF_ERROR(SetState(*state));
  FGNN_RETURN_IF_ERROR(parts_.hosts.TakeOver(run_.job.progress.dataset_content,
                                             kept->options().first_version));
  FGNN_RETURN_IF_ERROR(run_.executors.TakeOver(run_.peers));
  parts_.planner.TakeOver(&run_.executors.segment());
  FGNN_RETURN_IF_ERROR(parts_.records.OpenTimeline());
  parts_.progress.ShowSize(run_.started->segment);
  LogInfo("job {}: taken over at step {}", run_.job.id,
          run_.board().version().value_or(0));
  FGNN_ASSIGN_OR_RETURN(run_.dataset, OpenDataset(run_));
  parts_.progress.ShowDataset(*run_.dataset);
  FGNN_RETURN_IF_ERROR(parts_.checkpoints.FindSavedBest());
  FGNN_RETURN_IF_ERROR(FinishStop());
  return true;
}

absl::Status RunStart::FinishStop() {
  const uint64_t version = run_.board().version().value_or(0);
  if (version == run_.started->segment.first_version) return absl::OkStatus();
  const JobShape shape(run_.started->segment);
  FGNN_RETURN_IF_ERROR(parts_.records.RecordUntil(
      shape.BatchesOfStep(StepNumber(version - 1)).end));
  // If training may go beyond this version, the work of the stop was done.
  if (run_.board().training_limit() != StepNumber(version))
    return absl::OkStatus();
  const uint64_t epochs = shape.EpochOfStep(StepNumber(version));
  if (StepNumber(version) != shape.StepsOfEpoch(epochs).begin) {
    return parts_.checkpoints.SaveWithin(run_.started->epochs_done, version);
  }
  // An epoch without a line of metrics is not done. The run then begins with
  // that epoch and finds nothing left to train.
  if (run_.started->epochs_done < epochs) return absl::OkStatus();
  const uint32_t epoch = run_.started->epochs_done - 1;
  FGNN_ASSIGN_OR_RETURN(const Scores scores,
                        run_.started->folder.ScoresOf(epoch));
  return parts_.checkpoints.SaveEpoch(
      epoch, parts_.scores.IsBetter(scores.compared()));
}

RunRecord RunStart::Record(double seconds_before) const {
  return {.job_id = run_.job.id,
          .user = run_.job.user,
          .digest = run_.job.options.digest,
          .trace = run_.job.options.trace,
          .service = run_.environment.host->options().state_dir.string(),
          .seconds_before = seconds_before,
          .seeds = run_.peers.seeds};
}

// After a crash, a job would be refused its own folder if the store did not
// know of it. So on a full disk the job waits for room.
absl::Status RunStart::OwnFolder() {
  JobDispatcher& dispatcher = *run_.environment.dispatcher;
  absl::Status owned = dispatcher.OwnFolder(run_.job.id);
  if (!absl::IsResourceExhausted(owned)) return owned;
  LogError("job {}: waits for room: {}", run_.job.id, MessageOf(owned));
  parts_.progress.EnterPhase("waiting for room in the state folder");
  while (absl::IsResourceExhausted(owned)) {
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    dispatcher.WaitUntilClosed(DeadlineIn(kTryStoreEvery));
    owned = dispatcher.OwnFolder(run_.job.id);
  }
  return owned;
}

absl::StatusOr<StartedRun> RunStart::OpenFolder(const SegmentOptions& segment) {
  const auto find = [this](const std::filesystem::path& path) {
    return FindByRights(path);
  };
  if (run_.job.folder == FolderUse::kMake) {
    FGNN_ASSIGN_OR_RETURN(RunFolder made,
                          RunFolder::Create(
                              run_.job.run_dir, ToYaml(*run_.job.spec),
                              Record(/*seconds_before=*/0),
                              [this] { return OwnFolder(); }, find));
    return StartedRun{.folder = std::move(made), .segment = segment};
  }
  FGNN_ASSIGN_OR_RETURN(RunFolder folder,
                        RunFolder::Reopen(run_.job.run_dir, find));
  const double seconds_before =
      SecondsBefore(folder.held().path(), run_.job.id);
  return StartedRun{.folder = std::move(folder),
                    .segment = segment,
                    .seconds_before = seconds_before};
}

absl::Status RunStart::PlanToGoOn() {
  FGNN_ASSIGN_OR_RETURN(
      point_,
      FindResumePoint(run_.started->folder, run_.started->segment,
                      {.seed = run_.spec.training.seed,
                       .batch_dependency = run_.spec.sampling.batch_dependency,
                       .matched_window = run_.spec.sampling.matched_window(),
                       .seeds = run_.peers.seeds,
                       .dataset = run_.spec.dataset,
                       .dataset_content = run_.dataset->validated.content},
                      [this](const std::filesystem::path& path) {
                        return run_.executors.calls().DescribeCheckpoint(path);
                      }));
  if (!point_.has_value()) {
    LogInfo("job {}: has no checkpoint; starts anew", run_.job.id);
    return absl::OkStatus();
  }
  run_.started->segment.first_version = point_->version;
  parts_.checkpoints.GoOnFrom(point_->version);
  run_.started->epochs_done = static_cast<uint32_t>(
      JobShape(run_.started->segment).EpochOfStep(StepNumber(point_->version)));
  LogInfo("job {}: goes on from {}, batch {}", run_.job.id,
          point_->checkpoint.string(), point_->state.next_seq.value());
  return absl::OkStatus();
}

absl::Status RunStart::EnterFolder() {
  if (run_.job.folder == FolderUse::kResume) {
    FGNN_RETURN_IF_ERROR(OwnFolder());
  }
  FGNN_RETURN_IF_ERROR(run_.started->folder.GoOn(
      ToYaml(*run_.job.spec), Record(run_.started->seconds_before)));
  FGNN_RETURN_IF_ERROR(GoBackTo(point_, run_.started->folder));
  if (!point_.has_value()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(SetState(point_->state));
  return MakeBestIfItWas(*point_);
}

// The earlier run may have ended after saving the epoch and before making it
// the best one.
absl::Status RunStart::MakeBestIfItWas(const ResumePoint& point) {
  const CheckpointFolder& checkpoints = run_.started->folder.checkpoints();
  const std::optional<uint32_t> best = parts_.scores.best().epoch;
  const bool is_best =
      point.checkpoint == checkpoints.OfEpoch(run_.started->epochs_done) &&
      best.has_value() && *best + 1 == run_.started->epochs_done;
  return is_best ? checkpoints.MakeBest(point.checkpoint) : absl::OkStatus();
}

absl::Status RunStart::SetState(const RunState& state) {
  parts_.records.GoOnFrom(state);
  const HeldFolder& folder = run_.started->folder.held();
  return folder.Named(parts_.scores.GoOnFrom(state, folder.path()));
}

}  // namespace fgnn
