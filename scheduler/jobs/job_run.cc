#include "scheduler/jobs/job_run.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/jobs/early_stop.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
constexpr milliseconds kMemoryLook{1'000};
// The share of time that looking at memory may cost.
constexpr int kMemoryLookShare = 50;

ExecutorsOfJob ExecutorsFor(const Job& job, const JobSpec& spec) {
  return {.job_id = job.id,
          .spec_bytes = job.spec_bytes,
          .dataset = spec.dataset,
          .dataset_content = job.progress.dataset_content,
          .placements = PlaceExecutors(spec.num_samplers(), spec.num_trainers(),
                                       spec.devices),
          .restarts = spec.limits.restarts};
}

}  // namespace

JobRun::JobRun(Job job, DecodedSpec decoded, const JobEnvironment& environment)
    : job_(std::move(job)),
      decoded_(std::move(decoded)),
      spec_(decoded_.spec),
      environment_(environment),
      executors_(environment.host->DaemonsOf(job_.id), environment.calls,
                 ExecutorsFor(job_, spec_), [this] { return KeepGoing(); }),
      planner_(job_.id, spec_, environment.host->options().state_dir),
      plateau_(spec_.training),
      next_memory_look_(MonotonicClock::now()) {}

absl::Status JobRun::RunToEnd() {
  const absl::Status prepared = Prepare();
  EndPreparation();
  may_stop_anywhere_ = false;
  FGNN_RETURN_IF_ERROR(prepared);
  environment_.dispatcher->MarkRunning(job_.id);
  since_training_.Restart();
  ShowProgress();
  while (!IsOver()) FGNN_RETURN_IF_ERROR(RunEpoch(epochs_done_));
  if (const auto why = WhyStopped(); why.has_value()) {
    LogInfo("job {}: stops early: {}", job_.id, *why);
  }
  may_stop_anywhere_ = true;  // Its last checkpoint is written.
  return Test();
}

absl::Status JobRun::Run() {
  const absl::Status status = RunToEnd();
  // What else went wrong, or right, meanwhile stands.
  if (!absl::IsAborted(status)) let_go_ = LetGo::kNo;
  return status;
}

absl::Status JobRun::KeepGoing() {
  const Deadline now = MonotonicClock::now();
  if (now >= next_memory_look_) {
    const Stopwatch cost;
    MeasureMemory();
    next_memory_look_ =
        now +
        std::max<MonotonicClock::duration>(
            kMemoryLook, std::chrono::duration_cast<MonotonicClock::duration>(
                             std::chrono::duration<double>(cost.Seconds() *
                                                           kMemoryLookShare)));
  }
  FGNN_RETURN_IF_ERROR(environment_.dispatcher->CancelCause(job_.id));
  if (!may_stop_anywhere_) return absl::OkStatus();
  const LetGo why = environment_.dispatcher->ShouldLetGo(job_.id);
  if (why == LetGo::kNo) return absl::OkStatus();
  let_go_ = why;
  return absl::AbortedError("it lets go of its devices");
}

void JobRun::MeasureMemory() {
  const MemoryUse use = executors_.MeasureMemory();
  peak_bytes_ = std::max(peak_bytes_, use.resident_bytes);
  epoch_peak_bytes_ =
      std::max(epoch_peak_bytes_, use.anonymous_bytes + SegmentBytes(segment_) +
                                      executors_.scratch_bytes());
  environment_.memory->SetTaken(
      job_.id, use.anonymous_bytes -
                   std::min(use.anonymous_bytes, unplanned_bytes_) +
                   executors_.segment_bytes() + executors_.scratch_bytes());
}

void JobRun::EnterPhase(const std::string& phase) {
  LogInfo("job {}: {}", job_.id, phase);
  environment_.dispatcher->UpdateProgress(job_.id, [&](JobProgress& progress) {
    progress.phase = phase;
    progress.executors = executors_.Views();
    progress.restarts = executors_.restarts();
    progress.edges_per_second = 0;
  });
}

// Of what is on disk: a checkpoint never counts on lines that are not.
absl::StatusOr<std::string> JobRun::State() {
  FGNN_RETURN_IF_ERROR(folder_->Flush());
  FGNN_ASSIGN_OR_RETURN(const RunFolder::Lengths lengths, folder_->Sync());
  return RunStateToJson({.batches_per_epoch = segment_.batches_per_epoch,
                         .next_seq = next_seq_,
                         .dataset_content = validated_.content,
                         .sum = sum_,
                         .valid_accuracy = valid_accuracy_,
                         .best_valid_accuracy = best_valid_accuracy_,
                         .best_epoch = best_epoch_,
                         .metrics_bytes = lengths.metrics_bytes,
                         .digests_bytes = lengths.digests_bytes});
}

std::optional<std::string> JobRun::WhyStopped() const {
  return WhyStopEarly(spec_.training, epochs_done_, best_epoch_);
}

bool JobRun::IsOver() const {
  return epochs_done_ == spec_.training.epochs || WhyStopped().has_value();
}

bool JobRun::IsDue(uint32_t every, uint32_t epoch) const {
  return epoch + 1 == spec_.training.epochs ||
         (every > 0 && (epoch + 1) % every == 0);
}

absl::Status JobRun::RunEpoch(uint32_t epoch) {
  // An epoch may be shorter than the ticks of waiting for it.
  FGNN_RETURN_IF_ERROR(executors_.Tick());
  EnterPhase(absl::StrCat("epoch ", epoch + 1));
  epoch_peak_bytes_ = 0;  // What it took to get here is over.
  // The queue may run one epoch ahead: samplers work while trainers evaluate.
  const uint64_t opened = std::min<uint64_t>(epoch + 2, segment_.epochs);
  executors_.segment().queue().OpenForSampling(opened *
                                               segment_.batches_per_epoch);
  EpochFacts facts = {.epoch = epoch,
                      .seconds = 0,
                      .predicts_links = spec_.training.predicts_links(),
                      .evaluate_seconds = 0,
                      .samplers = spec_.num_samplers(),
                      .trainers = spec_.num_trainers(),
                      .switches = 0};
  planner_.BeginEpoch(&facts);
  edges_.Restart(MonotonicClock::now());
  executors_.segment().SetRateFactor(plateau_.factor());
  const uint64_t epoch_end = (epoch + 1) * segment_.steps_per_epoch();
  uint64_t version = board().version().value_or(0);
  while (version < epoch_end) {
    const Stopwatch seconds;
    version = NextStop(version, epoch_end);
    board().OpenForTraining(version);
    FGNN_RETURN_IF_ERROR(WaitForVersion(version));
    facts.seconds += seconds.Seconds();
    if (version < epoch_end) {
      FGNN_RETURN_IF_ERROR(CheckpointWithin(epoch, version));
    }
  }
  // Trainers that a scheduler took over may have ended the epoch already.
  FGNN_RETURN_IF_ERROR(
      RecordBatches(BatchesOf(segment_, epoch_end - 1).last_batch));
  planner_.EndEpoch(&facts);
  if (timeline_.has_value()) timeline_->EndEpoch(epoch, next_seq_ - 1);
  // Training is closed until the next epoch is opened.
  FGNN_RETURN_IF_ERROR(Validate(epoch, facts));
  const std::optional<double> valid_score = facts.valid_score();
  const bool is_best = IsBest(valid_score);
  FGNN_RETURN_IF_ERROR(WriteLinesTolerantly(MetricsLine(facts, sum_)));
  // Who is told of an epoch finds its line.
  epochs_done_ = epoch + 1;
  ShowProgress();
  plateau_.Add(valid_score);
  sum_ = EpochSum();
  environment_.dispatcher->ForgetInterruptions(job_.id);
  FGNN_RETURN_IF_ERROR(Checkpoint(epoch, is_best));
  planner_.Replan(segment_.epochs - epochs_done_);
  FGNN_RETURN_IF_ERROR(RankByOnlineCounts());
  FGNN_RETURN_IF_ERROR(AdaptCache());
  return IsOver() ? absl::OkStatus() : LetGoIfAsked();
}

// The best epoch is the first that has the highest score.
bool JobRun::IsBest(std::optional<double> score) const {
  return score.has_value() &&
         (!best_valid_accuracy_.has_value() || *score > *best_valid_accuracy_);
}

uint64_t JobRun::NextStop(uint64_t version, uint64_t epoch_end) const {
  const uint64_t steps = spec_.training.checkpoint_steps;
  if (steps == 0) return epoch_end;
  return std::min(epoch_end, (version / steps + 1) * steps);
}

absl::Status JobRun::WaitForVersion(uint64_t version) {
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const bool done,
                          board().WaitForVersion(version, DeadlineIn(kTick)));
    const uint64_t now = board().version().value_or(0);
    if (now > segment_.first_version) {
      const StepPlace last =
          BatchesOf(segment_, std::min<uint64_t>(now, version) - 1);
      FGNN_RETURN_IF_ERROR(RecordBatches(last.last_batch));
    }
    planner_.ReplanIfDevicesChanged();
    ShowProgress();
    if (done) return absl::OkStatus();
    FGNN_RETURN_IF_ERROR(executors_.Tick());
    FGNN_RETURN_IF_ERROR(LetGoIfAsked());
  }
}

// Records are there until the next epoch is trained; all before `last_seq` are
// committed.
absl::Status JobRun::RecordBatches(uint64_t last_seq) {
  std::string digests;
  const uint64_t edges_before = sum_.edges();
  for (; next_seq_ < last_seq; ++next_seq_) {
    const std::optional<BatchRecord> record = board().record(next_seq_);
    if (!record.has_value()) {
      return absl::InternalError(absl::StrCat(
          "job ", job_.id, ": batch ", next_seq_,
          " is committed, but the gradient board has no record of it"));
    }
    sum_.Add(*record);
    planner_.Add(*record);
    if (job_.digest) digests += DigestLine(*record);
    if (timeline_.has_value()) AddToTimeline(*record);
  }
  edges_.Add(sum_.edges() - edges_before, MonotonicClock::now());
  absl::Status written = folder_->AppendDigests(digests);
  if (timeline_.has_value()) written.Update(timeline_->Write());
  return CheckHeldLines(written);
}

void JobRun::AddToTimeline(const BatchRecord& record) {
  const JobDevices& devices = executors_.segment().devices();
  timeline_->Add(record,
                 {.sampler = devices.ExecutorOf(record.sampler).value_or(0),
                  .trainer = devices.ExecutorOf(record.trainer).value_or(0)});
}

void JobRun::ShowProgress() {
  environment_.dispatcher->UpdateProgress(job_.id, [&](JobProgress& progress) {
    progress.epochs_done = epochs_done_;
    progress.batches_committed = next_seq_;
    progress.loss = sum_.loss();
    progress.edges_per_second = edges_.PerSecond();
    progress.restarts = executors_.restarts();
    progress.executors = executors_.Views();
    progress.devices = planner_.Views();
    if (spec_.training.predicts_links()) {
      progress.valid_mrr = valid_accuracy_.value_or(0);
    } else {
      progress.valid_accuracy = valid_accuracy_.value_or(-1);
    }
    ShowTest(progress);
    if (next_seq_ > first_seq_) {
      const uint64_t left = progress.batches_expected - next_seq_;
      progress.seconds_left = since_training_.Seconds() *
                              static_cast<double>(left) /
                              static_cast<double>(next_seq_ - first_seq_);
    }
  });
}

absl::Status JobRun::Validate(uint32_t epoch, EpochFacts& facts) {
  if (spec_.training.evaluate_every == 0 || !dataset_.has_valid ||
      !IsDue(spec_.training.evaluate_every, epoch)) {
    return absl::OkStatus();
  }
  EnterPhase(absl::StrCat("evaluating epoch ", epoch + 1));
  FGNN_ASSIGN_OR_RETURN(const Evaluation evaluation,
                        executors_.evaluation().Evaluate("", {"valid"}));
  if (const auto score = evaluation.ScoreOf("valid"); score.has_value()) {
    if (!facts.predicts_links) {
      facts.valid_accuracy = score->accuracy();
      facts.valid_macro_f1 = score->macro_f1;
    }
    facts.valid_roc_auc = score->roc_auc;
    facts.valid_mrr = score->mrr;
    facts.valid_mean_rank = score->mean_rank;
  }
  facts.evaluate_seconds = evaluation.seconds;
  valid_accuracy_ = facts.valid_score();
  return absl::OkStatus();
}

absl::Status JobRun::Test() {
  if (spec_.training.evaluate_every == 0 || !dataset_.has_test) {
    return absl::OkStatus();
  }
  EnterPhase("testing");
  if (best_epoch_.has_value()) {
    FGNN_ASSIGN_OR_RETURN(const bool found, FindBestWeights());
    if (!found) return absl::OkStatus();
  }
  const std::string checkpoint =
      best_epoch_.has_value() ? folder_->BestCheckpoint().string() : "";
  FGNN_ASSIGN_OR_RETURN(const Evaluation evaluation,
                        executors_.evaluation().Evaluate(checkpoint, {"test"}));
  test_ = evaluation.ScoreOf("test");
  environment_.dispatcher->UpdateProgress(job_.id, [&](JobProgress& progress) {
    ShowTest(progress);
    progress.seconds_left = 0;
  });
  return absl::OkStatus();
}

void JobRun::ShowTest(JobProgress& progress) const {
  if (!test_.has_value()) return;
  if (test_->mrr.has_value()) {
    progress.test_mrr = *test_->mrr;
    progress.test_mean_rank = test_->mean_rank.value_or(0);
  } else {
    progress.test_accuracy = test_->accuracy();
    progress.test_macro_f1 = test_->macro_f1;
  }
  progress.test_roc_auc = test_->roc_auc.value_or(-1);
}

// As the line of the best epoch has it.
std::optional<double> JobRun::BestMacroF1() const {
  if (!best_epoch_.has_value()) return std::nullopt;
  const absl::StatusOr<RunFolder::EpochScores> best = ScoresOf(*best_epoch_);
  if (best.ok()) return best->valid_macro_f1;
  LogWarning("job {}: {}", job_.id, MessageOf(best.status()));
  return std::nullopt;
}

absl::StatusOr<RunFolder::EpochScores> JobRun::ScoresOf(uint32_t epoch) const {
  RunFolder::EpochScores found;
  uint32_t line = 0;
  FGNN_RETURN_IF_ERROR(
      folder_
          ->ReadMetrics([&](const RunFolder::EpochScores& scores) {
            if (line++ == epoch) found = scores;
          })
          .status());
  return found;
}

std::vector<std::string> JobRun::Warnings() const {
  std::vector<std::string> warnings;
  for (const std::string& warning : {validated_.warning, test_warning_}) {
    if (!warning.empty()) warnings.push_back(warning);
  }
  return warnings;
}

// The host counts while the job has daemons.
void JobRun::Release() {
  restarts_ = std::max(restarts_, executors_.restarts());
  executors_.Release();
  environment_.memory->Forget(job_.id);
  if (folder_.has_value()) {
    absl::Status left = folder_->Flush();
    left.Update(folder_->RemoveLeftovers());
    if (!left.ok()) LogError("job {}: {}", job_.id, MessageOf(left));
  }
  if (!timeline_.has_value()) return;
  const absl::Status closed = timeline_->Close();
  if (!closed.ok()) LogError("job {}: {}", job_.id, MessageOf(closed));
  timeline_.reset();
}

absl::Status JobRun::WriteSummary(JobState state,
                                  const absl::Status& error) const {
  if (!folder_.has_value()) return absl::OkStatus();
  return folder_->WriteSummary(
      {.job_id = job_.id,
       .state = state,
       .epochs = epochs_done_,
       .stopped_early = WhyStopped(),
       .seconds = since_start_.Seconds(),
       .preparation = preparation_,
       .batches_committed = next_seq_,
       .batches_expected = segment_.batches_per_epoch * segment_.epochs,
       .valid_accuracy = best_valid_accuracy_,
       .valid_macro_f1 = BestMacroF1(),
       .test_accuracy =
           test_.has_value() ? std::optional(test_->accuracy()) : std::nullopt,
       .test_macro_f1 =
           test_.has_value() ? std::optional(test_->macro_f1) : std::nullopt,
       .test_roc_auc = test_.has_value() ? test_->roc_auc : std::nullopt,
       .predicts_links = spec_.training.predicts_links(),
       .valid_mrr = best_valid_accuracy_,
       .test_mrr = test_.has_value() ? test_->mrr : std::nullopt,
       .test_mean_rank = test_.has_value() ? test_->mean_rank : std::nullopt,
       .best_epoch = best_epoch_,
       .switches = planner_.switches(),
       .restarts = restarts_,
       .peak_bytes = peak_bytes_,
       .seed = spec_.training.seed,
       .error = MessageOf(error),
       .warning = absl::StrJoin(Warnings(), "; ")});
}

}  // namespace fgnn
