// The scores of a run: of its last validated epoch, of its best one, of the
// test; and what follows from them.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_
#define FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/figures/plateau.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/store/job.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Scores are accuracies; of link prediction, MRRs. Epochs count from 0. Not
// thread-safe.
class RunScores {
 public:
  // The best epoch is the first that has the highest score. Its checkpoint is
  // kept.
  struct Best {
    std::optional<double> score = std::nullopt;
    std::optional<uint32_t> epoch = std::nullopt;
  };

  // Borrows the spec.
  explicit RunScores(const TrainingSpec* training)
      : training_(*training), plateau_(*training) {}

  // Goes on where an earlier run was, whose metrics are cut to the epochs that
  // are done. `run_dir`: its folder.
  absl::Status GoOnFrom(const RunState& state,
                        const std::filesystem::path& run_dir);

  // The last validated epoch has this score.
  void SetValid(std::optional<double> score) { valid_ = score; }
  // The next epoch was trained; nullopt: it was not validated.
  void AddEpoch(std::optional<double> score) { plateau_.Add(score); }
  bool IsBetter(std::optional<double> score) const;
  void SetBest(const Best& best) { best_ = best; }
  // No epoch from `first_epoch` on was saved as the best one: the best one is
  // that of those before.
  absl::Status ForgetBestSince(uint64_t first_epoch,
                               const std::filesystem::path& run_dir);
  void SetTest(std::optional<SplitScore> score) { test_ = std::move(score); }

  const std::optional<double>& valid() const { return valid_; }
  const Best& best() const { return best_; }
  const std::optional<SplitScore>& test() const { return test_; }
  // Returns the learning rate's factor of the next epoch.
  double rate_factor() const { return plateau_.factor(); }
  // Returns why the run stops before its last epoch; nullopt: it does not.
  std::optional<std::string> WhyStopped(uint32_t epochs_done) const;
  // Returns whether nothing is left to train.
  bool IsOver(uint32_t epochs_done) const;

  void ShowValid(JobProgress& progress) const;
  void ShowTest(JobProgress& progress) const;

 private:
  const TrainingSpec& training_;
  std::optional<double> valid_;
  Best best_;
  std::optional<SplitScore> test_;
  Plateau plateau_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_SCORES_H_
