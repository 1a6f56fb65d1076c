// summary.json of a run's folder: how the run ended.
#ifndef FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_
#define FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/job_state.h"

namespace fgnn {

// Scores of a run. What is not known is nullopt.
struct SummaryScores {
  // The best epoch's on the validation split.
  std::optional<double> valid_accuracy = std::nullopt;
  std::optional<double> valid_macro_f1 = std::nullopt;
  std::optional<double> test_accuracy = std::nullopt;
  std::optional<double> test_macro_f1 = std::nullopt;
  // With two classes, or links.
  std::optional<double> test_roc_auc = std::nullopt;
  // With link prediction these stand instead of accuracies and F1.
  bool predicts_links = false;
  std::optional<double> valid_mrr = std::nullopt;
  std::optional<double> test_mrr = std::nullopt;
  std::optional<double> test_mean_rank = std::nullopt;
  std::optional<uint32_t> best_epoch = std::nullopt;  // Counts from 0.
};

struct RunSummary {
  std::string job_id;
  JobState state = JobState::kFailed;
  uint32_t epochs = 0;  // Epochs that were finished.
  // Reason for an early stop; nullopt: there was none.
  std::optional<std::string> stopped_early = std::nullopt;
  double seconds = 0;
  // Seconds of each phase before the first epoch, in their order.
  std::vector<std::pair<std::string, double>> preparation = {};
  uint64_t batches_committed = 0;
  uint64_t batches_expected = 0;
  SummaryScores scores = {};
  uint32_t switches = 0;
  uint32_t restarts = 0;
  uint64_t peak_bytes = 0;
  uint64_t seed = 0;
  std::string error = {};    // Empty: none.
  std::string warning = {};  // Warnings of the dataset and the test, if any.
};

// Returns the text of summary.json. What is not known is null.
std::string SummaryToJson(const RunSummary& summary);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_
