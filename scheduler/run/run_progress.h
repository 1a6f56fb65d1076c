// Tells the table, and so the clients, of a run's progress.
#ifndef FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_
#define FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/figures/run_scores.h"
#include "scheduler/run/device_planner.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_records.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunProgress {
 public:
  // Borrows all.
  RunProgress(const RunContext* run, const DevicePlanner* planner,
              const RunRecords* records, const RunScores* scores)
      : run_(*run), planner_(*planner), records_(*records), scores_(*scores) {}

  void EnterPhase(const std::string& phase);
  // Does what EnterPhase() does, and notes the seconds of the phase for the
  // summary.
  void EnterPreparation(const std::string& phase);
  void EndPreparation();
  // Notes that the first epoch is about to be trained.
  void BeginTraining();

  void ShowDataset(const RunDataset& dataset);
  // Shows which daemons the run waits for, if that has changed.
  void ShowWait();
  // Shows how many epochs and batches the segment has.
  void ShowSize(const SegmentOptions& segment);
  // Shows how far the run is.
  void Show();
  // Shows the scores of the test.
  void ShowTest();
  // Enters the phase of an evaluation, which ends when the next one is entered.
  void EnterEvaluation(const std::string& phase);
  // Shows how far the evaluation is, if there is one.
  void ShowEvaluation();
  // Shows what clients have to know of the run's checkpoints.
  void ShowCheckpoints(const std::string& warning);

  // Returns the seconds since the run began.
  double seconds() const { return since_start_.Seconds(); }
  // Returns the seconds of each phase of the preparation, in their order.
  const std::vector<std::pair<std::string, double>>& preparation() const {
    return preparation_;
  }

 private:
  const RunContext& run_;
  const DevicePlanner& planner_;
  const RunRecords& records_;
  const RunScores& scores_;
  const Stopwatch since_start_;
  Stopwatch since_training_;
  std::vector<std::pair<std::string, double>> preparation_;
  std::optional<Stopwatch> since_phase_;  // Watch of the current phase.
  std::string shown_wait_;                // What ShowWait() showed last.
  bool evaluates_ = false;
  // What trainers, by their names, had last said of the evaluation before.
  std::map<std::string, uint32_t> said_before_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_
