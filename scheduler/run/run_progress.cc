#include "scheduler/run/run_progress.h"

#include <algorithm>
#include <cstdint>

#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {

void RunProgress::EnterPhase(const std::string& phase) {
  const JobEnvironment& environment = run_.environment;
  evaluates_ = false;
  LogInfo("job {}: {}", run_.job.id, phase);
  environment.dispatcher->UpdateProgress(run_.job.id,
                                         [&](JobProgress& progress) {
                                           progress.phase = phase;
                                           progress.evaluated.reset();
                                           progress.executors = run_.Views();
                                           progress.restarts = run_.restarts();
                                           progress.edges_per_second = 0;
                                         });
}

void RunProgress::EnterEvaluation(const std::string& phase) {
  EnterPhase(phase);
  evaluates_ = true;
  said_before_.clear();
  for (const ExecutorView& view : run_.executors.Views()) {
    if (view.evaluated_permille.has_value()) {
      said_before_.emplace(view.placement.name, *view.evaluated_permille);
    }
  }
}

// Trainers that evaluate together all know how far they are.
void RunProgress::ShowEvaluation() {
  if (!evaluates_) return;
  std::optional<uint32_t> permille;
  for (const ExecutorView& view : run_.executors.Views()) {
    if (!view.evaluated_permille.has_value()) continue;
    // A heartbeat comes late.
    const auto before = said_before_.find(view.placement.name);
    if (before != said_before_.end()) {
      if (before->second == *view.evaluated_permille) continue;
      said_before_.erase(before);
    }
    permille = std::max(permille, view.evaluated_permille);
  }
  if (!permille.has_value()) return;
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.evaluated = std::min(*permille, 1000U) / 1000.0;
      });
}

void RunProgress::ShowCheckpoints(const std::string& warning) {
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id,
      [&](JobProgress& progress) { progress.checkpoint_warning = warning; });
}

void RunProgress::EnterPreparation(const std::string& phase) {
  EndPreparation();
  preparation_.emplace_back(phase, 0);
  since_phase_.emplace();
  EnterPhase(phase);
}

void RunProgress::EndPreparation() {
  if (!since_phase_.has_value()) return;
  preparation_.back().second = since_phase_->Seconds();
  since_phase_.reset();
}

void RunProgress::BeginTraining() {
  since_training_.Restart();
  Show();
}

void RunProgress::ShowDataset(const RunDataset& dataset) {
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.warning = dataset.validated.warning;
        progress.dataset_content = dataset.validated.content;
      });
}

void RunProgress::ShowWait() {
  const std::string& wait = run_.executors.waiting_for();
  if (wait == shown_wait_) return;
  shown_wait_ = wait;
  if (!wait.empty()) LogWarning("job {}: {}", run_.job.id, wait);
  run_.environment.dispatcher->SetWaitingFor(run_.job.id, wait);
}

void RunProgress::ShowSize(const SegmentOptions& segment) {
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.epochs = run_.spec.training.epochs;
        progress.checkpoint_warning.clear();  // That of an earlier start.
        progress.batches_per_epoch = segment.batches_per_epoch;
        progress.batches_expected = JobShape(segment).num_batches().value();
      });
}

void RunProgress::Show() {
  const JobEnvironment& environment = run_.environment;
  environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.epochs_done = run_.started->epochs_done;
        progress.batches_committed = records_.next_seq().value();
        progress.loss = records_.sum().loss();
        progress.edges_per_second = records_.edges_per_second();
        progress.restarts = run_.restarts();
        progress.executors = run_.Views();
        progress.devices = planner_.Views();
        scores_.ShowValid(progress);
        scores_.ShowTest(progress);
        if (records_.num_recorded() > 0) {
          const uint64_t left =
              progress.batches_expected - progress.batches_committed;
          progress.seconds_left = since_training_.Seconds() *
                                  static_cast<double>(left) /
                                  static_cast<double>(records_.num_recorded());
        }
      });
}

void RunProgress::ShowTest() {
  run_.environment.dispatcher->UpdateProgress(run_.job.id,
                                              [&](JobProgress& progress) {
                                                scores_.ShowTest(progress);
                                                progress.seconds_left = 0;
                                              });
}

}  // namespace fgnn
