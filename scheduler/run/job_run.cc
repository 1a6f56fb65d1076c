#include "scheduler/run/job_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/run/run_start.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/measured/score_fields.h"
#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {

JobRun::JobRun(Job job, const JobEnvironment& environment)
    : parts_(std::move(job), environment, [this] { return KeepGoing(); }),
      run_(parts_.context),
      preemption_(&parts_) {}

absl::Status JobRun::Prepare() {
  RunStart start(&parts_);
  if (run_.job.resume) {
    parts_.progress.EnterPreparation("looking for its daemons");
    FGNN_ASSIGN_OR_RETURN(const bool taken_over, start.TakeOver());
    if (taken_over) return absl::OkStatus();
  }
  preemption_.AllowAnywhere(true);  // The folder has what the job goes on from.
  return start.Begin();
}

absl::Status JobRun::RunToEnd() {
  const absl::Status prepared = Prepare();
  parts_.progress.EndPreparation();
  preemption_.AllowAnywhere(false);
  FGNN_RETURN_IF_ERROR(prepared);
  run_.environment.dispatcher->MarkRunning(run_.job.id);
  parts_.progress.BeginTraining();
  while (!IsOver()) FGNN_RETURN_IF_ERROR(RunEpoch(run_.started->epochs_done));
  if (const auto why = parts_.scores.WhyStopped(run_.started->epochs_done);
      why.has_value()) {
    LogInfo("job {}: stops early: {}", run_.job.id, *why);
  }
  // The last checkpoint is written, and this host tests alone. It may need rows
  // of features from the others.
  if (!run_.dataset->facts.host_rows.has_value()) parts_.hosts.Release();
  preemption_.AllowAnywhere(true);
  FGNN_RETURN_IF_ERROR(Test());
  // A scheduler that died right after the last checkpoint has removed none of
  // the older ones.
  return run_.started->folder.PruneCheckpoints(
      run_.spec.training.keep_checkpoints);
}

absl::Status JobRun::Run() {
  const absl::Status status = RunToEnd();
  // If the run ended for another reason meanwhile, that reason counts.
  if (!absl::IsAborted(status)) preemption_.Forget();
  return status;
}

absl::Status JobRun::KeepGoing() {
  parts_.memory.MeasureIfDue();
  parts_.progress.ShowWait();
  parts_.progress.ShowEvaluation();
  FGNN_RETURN_IF_ERROR(run_.environment.dispatcher->CancelCause(run_.job.id));
  FGNN_RETURN_IF_ERROR(parts_.hosts.Check());
  return preemption_.AnywhereIfAsked();
}

absl::Status JobRun::RunEpoch(uint32_t epoch) {
  // An epoch may be shorter than a wait's interval, so the job is checked here.
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());
  parts_.progress.EnterPhase(absl::StrCat("epoch ", epoch + 1));
  parts_.memory.BeginEpoch();
  const JobSpec& spec = run_.spec;
  EpochFacts facts = {.epoch = epoch + 1,
                      .seconds = 0,
                      .objective = spec.training.objective(),
                      .evaluate_seconds = 0,
                      .samplers = spec.num_samplers(),
                      .trainers = spec.num_trainers(),
                      .switches = 0};
  FGNN_RETURN_IF_ERROR(TrainEpoch(epoch, facts));
  // Training is closed until the next epoch is opened.
  FGNN_RETURN_IF_ERROR(Validate(epoch, facts));
  const std::optional<double> valid_score = facts.valid.compared();
  const bool is_best = parts_.scores.IsBetter(valid_score);
  FGNN_RETURN_IF_ERROR(parts_.records.WriteEpoch(facts));
  // The line is written before clients are told of the epoch.
  run_.started->epochs_done = epoch + 1;
  parts_.progress.Show();
  parts_.scores.AddEpoch(valid_score);
  parts_.records.BeginSum();
  run_.environment.dispatcher->ForgetInterruptions(run_.job.id);
  FGNN_RETURN_IF_ERROR(parts_.checkpoints.SaveEpoch(epoch, is_best));
  parts_.planner.Replan(run_.started->segment.epochs -
                        run_.started->epochs_done);
  if (IsOver()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(parts_.caches.RankByOnlineCounts());
  FGNN_RETURN_IF_ERROR(parts_.caches.Adapt());
  return preemption_.IfAsked();
}

absl::Status JobRun::TrainEpoch(uint32_t epoch, EpochFacts& facts) {
  JobSegment& segment = run_.executors.segment();
  // The queue may run one epoch ahead: samplers work while trainers evaluate.
  const JobShape shape(run_.started->segment);
  const uint64_t opened =
      std::min<uint64_t>(epoch + 1, run_.started->segment.epochs - 1);
  const BatchSeq sampling_limit = shape.BatchesOfEpoch(opened).end;
  segment.queue().OpenForSampling(sampling_limit);
  parts_.planner.BeginEpoch(&facts);
  parts_.records.BeginEpoch();
  segment.SetRateFactor(parts_.scores.rate_factor());
  const uint64_t epoch_begin = shape.StepsOfEpoch(epoch).begin.value();
  const uint64_t epoch_end = shape.StepsOfEpoch(epoch).end.value();
  uint64_t version = run_.board().version().value_or(0);
  while (version < epoch_end) {
    const Stopwatch seconds;
    version = NextStop(version, epoch_end);
    parts_.hosts.Open({.sampling_limit = sampling_limit.value(),
                       .first_step = epoch_begin,
                       .training_limit = version,
                       .rate_factor = parts_.scores.rate_factor()});
    run_.board().OpenForTraining(StepNumber(version));
    FGNN_RETURN_IF_ERROR(WaitForVersion(version));
    facts.seconds += seconds.Seconds();
    if (version < epoch_end) {
      FGNN_RETURN_IF_ERROR(parts_.checkpoints.SaveWithin(epoch, version));
    }
  }
  // Trainers that a scheduler took over may have ended the epoch already.
  FGNN_RETURN_IF_ERROR(
      parts_.records.RecordUntil(shape.BatchesOfEpoch(epoch).end));
  parts_.planner.EndEpoch(&facts);
  parts_.records.EndTimelineOf(epoch + 1);
  return absl::OkStatus();
}

uint64_t JobRun::NextStop(uint64_t version, uint64_t epoch_end) const {
  const uint64_t steps = run_.spec.training.checkpoint_steps;
  if (steps == 0) return epoch_end;
  return std::min(epoch_end, (version / steps + 1) * steps);
}

absl::Status JobRun::WaitForVersion(uint64_t version) {
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const bool done, run_.board().WaitForVersion(
                                               version, DeadlineIn(kTick)));
    const uint64_t now = run_.board().version().value_or(0);
    if (now > run_.started->segment.first_version) {
      const uint64_t last = std::min<uint64_t>(now, version) - 1;
      FGNN_RETURN_IF_ERROR(parts_.records.RecordUntil(
          JobShape(run_.started->segment).BatchesOfStep(StepNumber(last)).end));
    }
    parts_.planner.ReplanIfDevicesChanged();
    parts_.progress.Show();
    if (done) return absl::OkStatus();
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    FGNN_RETURN_IF_ERROR(preemption_.IfAsked());
  }
}

absl::Status JobRun::Validate(uint32_t epoch, EpochFacts& facts) {
  const uint32_t every = run_.spec.training.evaluate_every;
  if (every == 0 || !run_.dataset->facts.has_valid ||
      !run_.IsDue(every, epoch)) {
    return absl::OkStatus();
  }
  parts_.progress.EnterEvaluation(absl::StrCat("evaluating epoch ", epoch + 1));
  // A trainer waits for the rows of a host that is lost. So the evaluation is
  // given up, and the job goes on from its newest checkpoint later.
  preemption_.AllowWithoutRows(true);
  const absl::Cleanup between_steps = [this] {
    preemption_.AllowWithoutRows(false);
  };
  FGNN_ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate("", {"valid"}));
  facts.valid = evaluation.ScoresOf("valid").value_or(Scores());
  facts.evaluate_seconds = evaluation.seconds;
  parts_.scores.SetValid(facts.valid.compared());
  return absl::OkStatus();
}

absl::Status JobRun::Test() {
  if (run_.spec.training.evaluate_every == 0 || !run_.dataset->facts.has_test) {
    return absl::OkStatus();
  }
  parts_.progress.EnterEvaluation("testing");
  std::string checkpoint;  // Empty: the newest weights.
  if (parts_.scores.best().epoch.has_value()) {
    FGNN_ASSIGN_OR_RETURN(test_warning_, parts_.checkpoints.FindBestWeights());
    if (!test_warning_.empty()) return absl::OkStatus();
    checkpoint = run_.started->folder.checkpoints().Best().string();
  }
  FGNN_ASSIGN_OR_RETURN(const Evaluation evaluation,
                        Evaluate(checkpoint, {"test"}));
  parts_.scores.SetTest(evaluation.ScoresOf("test"));
  parts_.progress.ShowTest();
  return absl::OkStatus();
}

absl::StatusOr<Evaluation> JobRun::Evaluate(
    const std::string& checkpoint, const std::vector<std::string>& splits) {
  ShortageWait wait(run_.job.id, "the evaluation", run_.environment.clock,
                    [this] { return run_.executors.Tick(); });
  while (true) {
    absl::StatusOr<Evaluation> evaluation =
        parts_.hosts.Evaluate(checkpoint, splits);
    if (evaluation.ok()) return evaluation;
    FGNN_RETURN_IF_ERROR(wait.BeforeNextTry(evaluation.status()));
  }
}

// The compared score is known from the checkpoint, the others from the best
// epoch's line of the metrics.
Scores JobRun::ScoresOfBest() const {
  const RunScores::Best& best = parts_.scores.best();
  const Objective objective = run_.spec.training.objective();
  const Scores compared = ScoresOfCompared(objective, best.score);
  if (!best.epoch.has_value()) return compared;
  absl::StatusOr<Scores> scores = run_.started->folder.ScoresOf(*best.epoch);
  if (!scores.ok()) {
    LogWarning("job {}: {}", run_.job.id, MessageOf(scores.status()));
    return compared;
  }
  const ScoreField& field = ComparedField(objective);
  (*scores).*field.score = compared.*field.score;
  return *scores;
}

std::vector<std::string> JobRun::Warnings() const {
  std::vector<std::string> warnings;
  if (run_.dataset.has_value() && !run_.dataset->validated.warning.empty()) {
    warnings.push_back(run_.dataset->validated.warning);
  }
  if (!test_warning_.empty()) warnings.push_back(test_warning_);
  return warnings;
}

// The host counts restarts only while the job has daemons, so they are read
// first.
void JobRun::Release() {
  const JobEnvironment& environment = run_.environment;
  restarts_ = std::max(restarts_, run_.restarts());
  parts_.hosts.Release();
  run_.executors.Release();
  environment.memory->Forget(run_.job.id);
  if (run_.started.has_value() && run_.started->folder.is_entered()) {
    absl::Status left = run_.started->folder.Flush();
    left.Update(run_.started->folder.RemoveLeftovers());
    if (!left.ok()) LogError("job {}: {}", run_.job.id, MessageOf(left));
  }
  parts_.records.CloseTimeline();
}

SummaryScores JobRun::ScoresInSummary() const {
  const RunScores& scores = parts_.scores;
  std::optional<uint32_t> best_epoch = scores.best().epoch;
  if (best_epoch.has_value()) ++*best_epoch;
  return {.valid = ScoresOfBest(),
          .test = scores.test().value_or(Scores()),
          .objective = run_.spec.training.objective(),
          .best_epoch = best_epoch};
}

absl::Status JobRun::WriteSummary(JobState state,
                                  const absl::Status& error) const {
  if (!run_.started.has_value()) return absl::OkStatus();
  const StartedRun& started = *run_.started;
  // The summary of the run that was to be resumed stays. A folder in which no
  // run has begun stays free for the next job.
  if (!started.folder.is_entered() &&
      (run_.job.folder == FolderUse::kResume || !started.folder.has_begun())) {
    return absl::OkStatus();
  }
  return started.folder.WriteSummary(
      {.job_id = run_.job.id,
       .state = state,
       .epochs = started.epochs_done,
       .stopped_early = parts_.scores.WhyStopped(started.epochs_done),
       .seconds = started.seconds_before + run_.job.run_seconds +
                  parts_.progress.seconds(),
       .preparation = parts_.progress.preparation(),
       .batches_committed = parts_.records.next_seq().value(),
       .batches_expected = JobShape(started.segment).num_batches().value(),
       .scores = ScoresInSummary(),
       .switches = parts_.planner.switches(),
       .restarts = restarts_,
       .peak_bytes = parts_.memory.peak_bytes(),
       .seed = run_.spec.training.seed,
       .error = MessageOf(error),
       .warning = absl::StrJoin(Warnings(), "; ")});
}

}  // namespace fgnn
