// summary.json of a run's folder: how the run ended.
#ifndef FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_
#define FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/job_state.h"
#include "shared/config/objective.h"
#include "shared/measured/scores.h"

namespace fgnn {

// Scores of a run; nullopt: not known.
struct SummaryScores {
  Scores valid = {};  // Scores of the best epoch on the validation split.
  Scores test = {};
  Objective objective = Objective::kClasses;  // Decides which scores it has.
  // Number of the best epoch in the run's files, see run_metrics.h.
  std::optional<uint32_t> best_epoch = std::nullopt;
};

struct RunSummary {
  std::string job_id;
  JobState state = JobState::kFailed;
  uint32_t epochs = 0;  // Epochs that were finished.
  // Reason for an early stop; nullopt: there was none.
  std::optional<std::string> stopped_early = std::nullopt;
  double seconds = 0;  // Seconds of the run with devices, over all its starts.
  // Seconds of each phase before the first epoch, in their order.
  std::vector<std::pair<std::string, double>> preparation = {};
  uint64_t batches_committed = 0;
  uint64_t batches_expected = 0;
  SummaryScores scores = {};
  uint32_t switches = 0;
  uint32_t restarts = 0;
  uint64_t peak_bytes = 0;
  uint64_t seed = 0;
  std::string error = {};  // Empty: none.
  // Warnings of the dataset and the test; empty: none.
  std::string warning = {};
};

// Returns the text of summary.json. Values that are not known are null.
std::string SummaryToJson(const RunSummary& summary);
// Returns `seconds` of a text that may be any; nullopt: it has none.
std::optional<double> SecondsInSummary(const std::string& text);

// Facts of a completed run, as its summary has them.
struct CompletedRun {
  std::string job_id;   // Id of the job that completed the run.
  uint64_t epochs = 0;  // Epochs that were finished.
  uint64_t batches_committed = 0;
  Scores test = {};
  // As in SummaryScores.
  std::optional<uint32_t> best_epoch = std::nullopt;
};

// Returns the facts of a completed run. nullopt: the text is of a run that
// ended otherwise, or no summary.
std::optional<CompletedRun> ParseCompletedRun(const std::string& text);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_
