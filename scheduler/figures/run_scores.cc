#include "scheduler/figures/run_scores.h"

#include "scheduler/figures/early_stop.h"
#include "scheduler/figures/run_metrics.h"
#include "shared/base/status.h"
#include "shared/measured/score_fields.h"

namespace fgnn {

absl::Status RunScores::GoOnFrom(const RunState& state,
                                 const std::filesystem::path& run_dir) {
  valid_ = state.valid_score;
  best_ = {.score = state.best_valid_score, .epoch = state.best_epoch};
  if (training_.schedule != "plateau") return absl::OkStatus();
  plateau_ = Plateau(training_);
  return ReadMetrics(
             run_dir,
             [this](const Scores& scores) { plateau_.Add(scores.compared()); })
      .status();
}

bool RunScores::IsBetter(std::optional<double> score) const {
  return score.has_value() &&
         (!best_.score.has_value() || *score > *best_.score);
}

// A best epoch before `first_epoch` stays: it is known from the checkpoint that
// the run went on from.
absl::Status RunScores::ForgetBestSince(uint64_t first_epoch,
                                        const std::filesystem::path& run_dir) {
  if (!best_.epoch.has_value() || *best_.epoch < first_epoch) {
    return absl::OkStatus();
  }
  best_ = {};
  uint32_t epoch = 0;
  return ReadMetrics(run_dir,
                     [&](const Scores& scores) {
                       if (epoch < first_epoch && IsBetter(scores.compared())) {
                         best_ = {.score = scores.compared(), .epoch = epoch};
                       }
                       ++epoch;
                     })
      .status();
}

std::optional<std::string> RunScores::WhyStopped(uint32_t epochs_done) const {
  return WhyStopEarly(training_, epochs_done, best_.epoch);
}

bool RunScores::IsOver(uint32_t epochs_done) const {
  return epochs_done == training_.epochs || WhyStopped(epochs_done).has_value();
}

void RunScores::ShowValid(JobProgress& progress) const {
  progress.valid = ScoresOfCompared(training_.objective(), valid_);
}

void RunScores::ShowTest(JobProgress& progress) const {
  if (test_.has_value()) progress.test = *test_;
}

}  // namespace fgnn
