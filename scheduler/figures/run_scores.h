// The scores of a run: of its last validated epoch, its best epoch and its
// test. Also decides when the run stops, and the learning rate's factor.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_
#define FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/figures/plateau.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/store/job.h"
#include "shared/config/job_spec.h"
#include "shared/measured/scores.h"

namespace fgnn {

// A score is Scores::compared() of an epoch. Epochs count from 0. Not
// thread-safe.
class RunScores {
 public:
  // The first epoch with the highest score; its checkpoint is kept. nullopt:
  // there is none.
  struct Best {
    std::optional<double> score = std::nullopt;
    std::optional<uint32_t> epoch = std::nullopt;
  };

  // Borrows the spec.
  explicit RunScores(const TrainingSpec* training)
      : training_(*training), plateau_(*training) {}

  // Goes on from the state of an earlier run, whose metrics are already cut to
  // the epochs that are done. `run_dir` is its folder.
  absl::Status GoOnFrom(const RunState& state,
                        const std::filesystem::path& run_dir);

  // Sets the score of the last validated epoch.
  void SetValid(std::optional<double> score) { valid_ = score; }
  // Adds the score of the next trained epoch; nullopt: it was not validated.
  void AddEpoch(std::optional<double> score) { plateau_.Add(score); }
  bool IsBetter(std::optional<double> score) const;
  void SetBest(const Best& best) { best_ = best; }
  // Sets the best epoch to the best one before `first_epoch`: no later epoch
  // was saved as the best one.
  absl::Status ForgetBestSince(uint64_t first_epoch,
                               const std::filesystem::path& run_dir);
  void SetTest(std::optional<Scores> scores) { test_ = scores; }

  const std::optional<double>& valid() const { return valid_; }
  const Best& best() const { return best_; }
  const std::optional<Scores>& test() const { return test_; }
  // Returns the learning rate's factor for the next epoch.
  double rate_factor() const { return plateau_.factor(); }
  // Returns why the run stops after `epochs_done` epochs, before its last one;
  // nullopt: it does not.
  std::optional<std::string> WhyStopped(uint32_t epochs_done) const;
  // Returns whether nothing is left to train.
  bool IsOver(uint32_t epochs_done) const;

  void ShowValid(JobProgress& progress) const;
  void ShowTest(JobProgress& progress) const;

 private:
  const TrainingSpec& training_;
  std::optional<double> valid_;
  Best best_;
  std::optional<Scores> test_;
  Plateau plateau_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_
