// How a job gets to where it trains: JobRun::Prepare() and what it is made of.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_run.h"
#include "scheduler/jobs/resume_point.h"
#include "scheduler/jobs/take_over.h"
#include "scheduler/planning/cache_capacity.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kTick{100};
// While the store's disk is full.
constexpr std::chrono::milliseconds kTryStoreEvery{500};
constexpr std::string_view kOnlinePolicy = "online";

}  // namespace

void JobRun::EnterPreparation(const std::string& phase) {
  EndPreparation();
  preparation_.emplace_back(phase, 0);
  since_phase_.emplace();
  EnterPhase(phase);
}

void JobRun::EndPreparation() {
  if (!since_phase_.has_value()) return;
  preparation_.back().second = since_phase_->Seconds();
  since_phase_.reset();
}

absl::Status JobRun::OpenDataset() {
  FGNN_ASSIGN_OR_RETURN(validated_, executors_.ValidateDataset());
  FGNN_ASSIGN_OR_RETURN(dataset_, LookAtDataset(spec_));
  if (!validated_.warning.empty()) {
    LogWarning("job {}: {}", job_.id, validated_.warning);
  }
  environment_.dispatcher->UpdateProgress(job_.id, [&](JobProgress& progress) {
    progress.warning = validated_.warning;
    progress.dataset_content = validated_.content;
  });
  return absl::OkStatus();
}

absl::Status JobRun::Prepare() {
  if (job_.resume) {
    EnterPreparation("looking for its daemons");
    FGNN_ASSIGN_OR_RETURN(const bool taken_over, TakeOver());
    if (taken_over) return absl::OkStatus();
  }
  may_stop_anywhere_ = true;  // What it goes on from is in its folder.
  EnterPreparation("validating data");
  // A sampler validates the data while the other daemons start up.
  FGNN_RETURN_IF_ERROR(executors_.Start());
  FGNN_RETURN_IF_ERROR(OpenDataset());
  EnterPreparation("starting daemons");
  FGNN_RETURN_IF_ERROR(executors_.WaitUntilRegistered());
  EnterPreparation("measuring");
  FGNN_ASSIGN_OR_RETURN(segment_, Plan(dataset_));
  ShowSize();
  FGNN_RETURN_IF_ERROR(OpenFolder());
  FGNN_RETURN_IF_ERROR(RankVertices());
  EnterPreparation("attaching daemons");
  FGNN_RETURN_IF_ERROR(executors_.OpenSegment(segment_));
  // Trainers fill their caches when they are attached, by what is planned.
  planner_.Begin(&executors_.segment());
  FGNN_RETURN_IF_ERROR(executors_.Tick());
  FGNN_RETURN_IF_ERROR(OpenTimeline());
  if (segment_.first_version > 0) {
    EnterPreparation(
        absl::StrCat("loading ", resumed_from_.filename().string()));
    FGNN_RETURN_IF_ERROR(executors_.calls().LoadCheckpoint(resumed_from_));
  }
  return WaitForFirstWeights();
}

absl::StatusOr<bool> JobRun::TakeOver() {
  FGNN_ASSIGN_OR_RETURN(JobSegment* const kept, executors_.FindKeptSegment());
  if (kept == nullptr) return false;
  absl::StatusOr<RunFolder> folder = RunFolder::Keep(job_.run_dir, Record());
  // A queue that is stopped stays so.
  absl::StatusOr<RunState> state =
      !folder.ok() ? folder.status()
      : kept->queue().stopped()
          ? absl::FailedPreconditionError(
                "its daemons had begun to let go of it")
          : FindRunningState(kept->options(), kept->board(), *folder,
                             job_.digest);
  if (state.ok()) {
    const absl::Status cut =
        folder->TruncateTo({.metrics_bytes = state->metrics_bytes,
                            .digests_bytes = state->digests_bytes});
    if (!cut.ok()) state = cut;
  }
  if (!state.ok()) {
    LogWarning("job {}: cannot go on where it is: {}", job_.id,
               MessageOf(state.status()));
    executors_.Release();
    return false;
  }
  folder_ = *std::move(folder);
  segment_ = kept->options();
  epochs_done_ =
      static_cast<uint32_t>(state->next_seq / segment_.batches_per_epoch);
  FGNN_RETURN_IF_ERROR(SetState(*state));
  FGNN_RETURN_IF_ERROR(executors_.TakeOver());
  planner_.TakeOver(&executors_.segment());
  FGNN_RETURN_IF_ERROR(OpenTimeline());
  ShowSize();
  LogInfo("job {}: taken over at step {}", job_.id,
          board().version().value_or(0));
  FGNN_RETURN_IF_ERROR(OpenDataset());
  FGNN_RETURN_IF_ERROR(FindSavedBest());
  FGNN_RETURN_IF_ERROR(FinishStop());
  return true;
}

absl::Status JobRun::FinishStop() {
  const uint64_t version = board().version().value_or(0);
  if (version == segment_.first_version) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(
      RecordBatches(BatchesOf(segment_, version - 1).last_batch));
  // Beyond a stop, what was due at it has been done.
  if (board().training_limit() != version) return absl::OkStatus();
  const uint64_t steps = segment_.steps_per_epoch();
  if (version % steps != 0) return CheckpointWithin(epochs_done_, version);
  // Without metrics the epoch is not done; RunEpoch() finds nothing to train.
  if (epochs_done_ < version / steps) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const RunFolder::EpochScores scores,
                        ScoresOf(epochs_done_ - 1));
  return Checkpoint(epochs_done_ - 1, IsBest(scores.valid_accuracy));
}

// The metrics have an epoch's score before its checkpoint is written. So they
// do not tell whether that checkpoint failed, after which the best epoch was
// still the one before. best.safetensors tells which epoch was saved last as
// the best one.
absl::Status JobRun::FindSavedBest() {
  if (!best_epoch_.has_value()) return absl::OkStatus();
  const absl::StatusOr<CheckpointProfile> best =
      executors_.calls().DescribeCheckpoint(folder_->BestCheckpoint());
  if (absl::IsUnavailable(best.status())) return best.status();
  FGNN_RETURN_IF_ERROR(executors_.Tick());  // Cancelled, or beyond repair.
  if (absl::IsNotFound(best.status())) return ForgetUnsavedBest();
  // A run that went on from before its best epoch trains that epoch again. A
  // damaged file tells nothing.
  if (!best.ok() || best->seed != spec_.training.seed) return absl::OkStatus();
  const absl::StatusOr<RunState> state = RunStateFromJson(best->run_state);
  if (!state.ok() || !state->best_epoch.has_value() ||
      *state->best_epoch + 1 != best->epochs_done ||
      *state->best_epoch >= epochs_done_) {
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const RunFolder::EpochScores scores,
                        ScoresOf(*state->best_epoch));
  // Another score is that of another run, which was trained otherwise.
  if (!scores.valid_accuracy.has_value() ||
      scores.valid_accuracy != state->best_valid_accuracy) {
    return absl::OkStatus();
  }
  best_epoch_ = state->best_epoch;
  best_valid_accuracy_ = scores.valid_accuracy;
  return absl::OkStatus();
}

// No epoch of this segment was saved as the best one. The best of those before
// is known from the checkpoint that the run went on from.
absl::Status JobRun::ForgetUnsavedBest() {
  const uint64_t first = segment_.first_version / segment_.steps_per_epoch();
  if (*best_epoch_ < first) return absl::OkStatus();
  best_epoch_.reset();
  best_valid_accuracy_.reset();
  uint32_t epoch = 0;
  return folder_
      ->ReadMetrics([&](const RunFolder::EpochScores& scores) {
        if (epoch < first && IsBest(scores.valid_accuracy)) {
          best_epoch_ = epoch;
          best_valid_accuracy_ = scores.valid_accuracy;
        }
        ++epoch;
      })
      .status();
}

absl::Status JobRun::OpenTimeline() {
  if (!job_.trace) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(
      timeline_, RunTimeline::Open(job_.run_dir, job_.started_ms, next_seq_));
  return absl::OkStatus();
}

RunRecord JobRun::Record() const {
  return {.job_id = job_.id,
          .user = job_.user,
          .digest = job_.digest,
          .trace = job_.trace,
          .service = environment_.host->options().state_dir.string()};
}

// A run folder of which the store does not know would be refused to its own job
// after a crash, so that the job waits for room on a full disk.
absl::Status JobRun::OwnFolder() {
  absl::Status owned = environment_.dispatcher->OwnFolder(job_.id);
  if (!absl::IsResourceExhausted(owned)) return owned;
  LogError("job {}: waits for room: {}", job_.id, MessageOf(owned));
  EnterPhase("waiting for room in the state folder");
  while (absl::IsResourceExhausted(owned)) {
    FGNN_RETURN_IF_ERROR(executors_.Tick());
    environment_.dispatcher->WaitUntilClosed(DeadlineIn(kTryStoreEvery));
    owned = environment_.dispatcher->OwnFolder(job_.id);
  }
  return owned;
}

absl::Status JobRun::OpenFolder() {
  const auto own = [this] { return OwnFolder(); };
  if (job_.folder == FolderUse::kMake) {
    FGNN_ASSIGN_OR_RETURN(
        folder_, RunFolder::Create(job_.run_dir, decoded_.yaml, Record(), own));
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(
      folder_, RunFolder::Reopen(job_.run_dir, decoded_.yaml, Record()));
  if (job_.folder == FolderUse::kResume) FGNN_RETURN_IF_ERROR(own());
  FGNN_ASSIGN_OR_RETURN(
      const std::optional<ResumePoint> point,
      FindResumePoint(*folder_, segment_,
                      {.seed = spec_.training.seed,
                       .dataset = spec_.dataset,
                       .dataset_content = validated_.content},
                      [this](const std::filesystem::path& path) {
                        return executors_.calls().DescribeCheckpoint(path);
                      }));
  if (point.has_value()) return GoOnFrom(*point);
  LogInfo("job {}: has no checkpoint; starts anew", job_.id);
  return absl::OkStatus();
}

absl::Status JobRun::GoOnFrom(const ResumePoint& point) {
  segment_.first_version = point.version;
  saved_version_ = point.version;
  resumed_from_ = point.checkpoint;
  epochs_done_ =
      static_cast<uint32_t>(point.version / segment_.steps_per_epoch());
  FGNN_RETURN_IF_ERROR(SetState(point.state));
  LogInfo("job {}: goes on from {}, batch {}", job_.id,
          point.checkpoint.string(), next_seq_);
  // The run may have ended between saving the epoch and making it the best.
  const bool is_best =
      point.checkpoint == folder_->EpochCheckpoint(epochs_done_) &&
      best_epoch_.has_value() && *best_epoch_ + 1 == epochs_done_;
  return is_best ? folder_->MakeBest(point.checkpoint) : absl::OkStatus();
}

absl::Status JobRun::SetState(const RunState& state) {
  first_seq_ = next_seq_ = state.next_seq;
  sum_ = state.sum;
  valid_accuracy_ = state.valid_accuracy;
  best_valid_accuracy_ = state.best_valid_accuracy;
  best_epoch_ = state.best_epoch;
  if (spec_.training.schedule != "plateau") return absl::OkStatus();
  // The file has been cut to the epochs that are done.
  plateau_ = Plateau(spec_.training);
  return folder_
      ->ReadMetrics([this](const RunFolder::EpochScores& scores) {
        plateau_.Add(scores.valid_accuracy);
      })
      .status();
}

absl::StatusOr<SegmentOptions> JobRun::Plan(const DatasetFacts& dataset) {
  PlanInput input;
  input.job_key = HashString(job_.id);
  input.spec = spec_;
  input.dataset = dataset.shape;
  const uint64_t batches =
      BatchesPerEpoch(dataset.shape.num_train, spec_.sampling.batch_size);
  FGNN_ASSIGN_OR_RETURN(
      input.sampling, executors_.calls().ProfileSampling(static_cast<uint32_t>(
                          std::min<uint64_t>(batches, kProfiledBatches))));
  FGNN_ASSIGN_OR_RETURN(
      input.training, executors_.calls().ProfileTraining(input.sampling.hops));
  planner_.SetProfile(input.sampling.seconds_per_batch,
                      input.training.seconds_per_batch);
  JobPlan plan;
  FGNN_RETURN_IF_ERROR(environment_.memory->Plan(
      job_.id, [&](uint64_t of_others) -> absl::StatusOr<uint64_t> {
        FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
        input.available_bytes = available - std::min(available, of_others);
        absl::StatusOr<JobPlan> planned = PlanJob(input);
        if (!planned.ok() && of_others > 0) {
          return absl::Status(
              planned.status().code(),
              absl::StrCat(planned.status().message(),
                           "; other jobs that run are still to take ",
                           FormatBytes(of_others)));
        }
        FGNN_ASSIGN_OR_RETURN(plan, std::move(planned));
        return plan.total_bytes;
      }));
  unplanned_bytes_ = executors_.MeasureMemory().anonymous_bytes;
  LogInfo("job {}: {} batches an epoch, W = {}, {} parameters; memory {}: {}",
          job_.id, plan.segment.batches_per_epoch,
          plan.segment.batches_per_step, plan.segment.num_parameters,
          FormatBytes(plan.total_bytes), DescribeMemory(plan));
  if (const std::string limits = DescribeRoleLimits(plan, spec_);
      !limits.empty()) {
    LogInfo("job {}: {}", job_.id, limits);
  }
  return plan.segment;
}

absl::Status JobRun::RankVertices() {
  if (!segment_.plans_caches()) return absl::OkStatus();
  const Stopwatch watch;
  absl::StatusOr<uint64_t> key = 0;
  if (spec_.cache.policy == kOnlinePolicy) {
    key = executors_.ranking().FindRankOrder();
  } else {
    EnterPreparation("pre-sampling");
    key = executors_.ranking().RankVertices(job_.run_dir);
  }
  if (!key.ok()) return Annotate(key.status(), "cache.policy");
  segment_.rank_order_key = *key;
  if (*key != 0) LogCache(watch.Seconds());
  return absl::OkStatus();
}

absl::Status JobRun::RankByOnlineCounts() {
  JobSegment& segment = executors_.segment();
  if (!segment_.plans_caches() || segment.cache_plan().rank_order_key != 0 ||
      spec_.cache.policy != kOnlinePolicy ||
      epochs_done_ < spec_.cache.epochs || IsOver()) {
    return absl::OkStatus();
  }
  EnterPhase("ranking what was counted");
  const Stopwatch watch;
  const absl::StatusOr<uint64_t> key =
      executors_.ranking().RankByOnlineCounts(job_.run_dir);
  if (!key.ok()) return Annotate(key.status(), "cache.policy");
  CachePlan plan = segment.cache_plan();
  plan.rank_order_key = *key;
  segment.SetCachePlan(plan);
  if (*key != 0) LogCache(watch.Seconds());
  return absl::OkStatus();
}

absl::Status JobRun::AdaptCache() {
  JobSegment& segment = executors_.segment();
  const CachePlan plan = segment.cache_plan();
  if (!segment_.plans_caches() || IsOver()) return absl::OkStatus();
  CacheUse use = CachesOf(plan);
  // Caches follow devices that have changed roles.
  segment.devices().CacheAsPlanned();
  use.standbys.next_count = segment.devices().NumStandbyCaches();
  use.trainers.next_count = spec_.num_trainers() - use.standbys.next_count;
  if (plan.rank_order_key == 0) return absl::OkStatus();
  MeasureMemory();
  FGNN_ASSIGN_OR_RETURN(uint64_t available, AvailableMemoryBytes());
  available -= std::min(available, environment_.memory->OfOthers(job_.id));
  use.peak_bytes = epoch_peak_bytes_;
  use.have_bytes = std::min(spec_.limits.memory_bytes.value_or(UINT64_MAX),
                            available + use.peak_bytes);
  const CacheRows rows = AdaptedCacheRows(use);
  const CachePlan next = {.rank_order_key = plan.rank_order_key,
                          .rows = rows.trainer,
                          .standby_rows = rows.standby};
  if (next == plan) return absl::OkStatus();
  LogInfo(
      "job {}: the epoch took {} of {}: {} from now on, {} vertices before{}",
      job_.id, FormatBytes(use.peak_bytes), FormatBytes(use.have_bytes),
      DescribeCaches(rows), plan.rows,
      spec_.has_standbys() ? absl::StrCat(" and ", plan.standby_rows) : "");
  segment.SetCachePlan(next);
  return absl::OkStatus();
}

// Of the epoch that is over.
CacheUse JobRun::CachesOf(const CachePlan& plan) {
  const CacheSpec& cache = spec_.cache;
  CacheUse use;
  use.row_bytes = dataset_.shape.feature_row_bytes;
  use.standbys.rows = plan.standby_rows;
  use.standbys.count = executors_.segment().devices().NumStandbyCaches();
  use.trainers.rows = plan.rows;
  use.trainers.count = spec_.num_trainers() - use.standbys.count;
  use.trainers.most_rows = cache.capacity.has_value()
                               ? segment_.cache_rows
                               : dataset_.shape.num_nodes;
  use.standbys.most_rows = cache.standby_capacity.has_value()
                               ? segment_.standby_cache_rows
                               : use.trainers.most_rows;
  if (!spec_.has_standbys()) use.standbys.most_rows = 0;
  return use;
}

std::string JobRun::DescribeCaches(const CacheRows& rows) const {
  return absl::StrCat(
      "each trainer caches ", rows.trainer, " vertices",
      spec_.has_standbys()
          ? absl::StrCat(", each standby trainer ", rows.standby)
          : "");
}

void JobRun::LogCache(double ranking_seconds) const {
  LogInfo("job {}: {} by {}, ranked in {:.1f} s", job_.id,
          DescribeCaches({segment_.cache_rows, segment_.standby_cache_rows}),
          spec_.cache.policy, ranking_seconds);
}

void JobRun::ShowSize() {
  environment_.dispatcher->UpdateProgress(job_.id, [&](JobProgress& progress) {
    progress.epochs = spec_.training.epochs;
    progress.batches_per_epoch = segment_.batches_per_epoch;
    progress.batches_expected = segment_.batches_per_epoch * segment_.epochs;
  });
}

absl::Status JobRun::WaitForFirstWeights() {
  while (true) {
    FGNN_RETURN_IF_ERROR(executors_.Tick());
    FGNN_ASSIGN_OR_RETURN(
        const bool there,
        board().WaitForVersion(segment_.first_version, DeadlineIn(kTick)));
    if (there) return absl::OkStatus();
  }
}

}  // namespace fgnn
