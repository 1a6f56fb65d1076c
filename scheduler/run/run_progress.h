// What the table, and so clients, are told of a run while it goes on.
#ifndef FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_
#define FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_

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
  // EnterPhase(), and the seconds of the phase stand in the summary.
  void EnterPreparation(const std::string& phase);
  void EndPreparation();
  // The first epoch is about to be trained.
  void BeginTraining();

  void ShowDataset();
  // How many epochs and batches there are.
  void ShowSize();
  // How far the run is.
  void Show();
  // The run's test is over.
  void ShowTest();

  // Seconds since the run began.
  double seconds() const { return since_start_.Seconds(); }
  // Seconds of each phase of the preparation, in their order.
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
  std::optional<Stopwatch> since_phase_;  // Watch of the last of them.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_PROGRESS_H_
