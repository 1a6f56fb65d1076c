#include "scheduler/run/run_progress.h"

#include <cstdint>

#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {

void RunProgress::EnterPhase(const std::string& phase) {
  const JobEnvironment& environment = run_.environment;
  LogInfo("job {}: {}", run_.job.id, phase);
  environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.phase = phase;
        progress.executors = run_.executors.Views();
        progress.restarts = run_.executors.restarts();
        progress.edges_per_second = 0;
      });
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

void RunProgress::ShowDataset() {
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.warning = run_.validated.warning;
        progress.dataset_content = run_.validated.content;
      });
}

void RunProgress::ShowWait() {
  const std::string& wait = run_.executors.waiting_for();
  if (wait == shown_wait_) return;
  shown_wait_ = wait;
  if (!wait.empty()) LogWarning("job {}: {}", run_.job.id, wait);
  run_.environment.dispatcher->SetWaitingFor(run_.job.id, wait);
}

void RunProgress::ShowSize() {
  const SegmentOptions& segment = run_.segment;
  run_.environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.epochs = run_.spec.training.epochs;
        progress.batches_per_epoch = segment.batches_per_epoch;
        progress.batches_expected = JobShape(segment).num_batches().value();
      });
}

void RunProgress::Show() {
  const JobEnvironment& environment = run_.environment;
  environment.dispatcher->UpdateProgress(
      run_.job.id, [&](JobProgress& progress) {
        progress.epochs_done = run_.epochs_done;
        progress.batches_committed = records_.next_seq().value();
        progress.loss = records_.sum().loss();
        progress.edges_per_second = records_.edges_per_second();
        progress.restarts = run_.executors.restarts();
        progress.executors = run_.executors.Views();
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
