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

struct RunSummary {
  std::string job_id;
  JobState state = JobState::kFailed;
  uint32_t epochs = 0;  // That were finished.
  std::optional<std::string> stopped_early = std::nullopt;  // Why.
  double seconds = 0;
  // Of each phase before the first epoch, in their order.
  std::vector<std::pair<std::string, double>> preparation = {};
  uint64_t batches_committed = 0;
  uint64_t batches_expected = 0;
  // Of the best epoch.
  std::optional<double> valid_accuracy = std::nullopt;
  std::optional<double> valid_macro_f1 = std::nullopt;
  std::optional<double> test_accuracy = std::nullopt;
  std::optional<double> test_macro_f1 = std::nullopt;
  std::optional<double> test_roc_auc = std::nullopt;  // Of two classes, links.
  // Of link prediction, instead of accuracies and F1.
  bool predicts_links = false;
  std::optional<double> valid_mrr = std::nullopt;
  std::optional<double> test_mrr = std::nullopt;
  std::optional<double> test_mean_rank = std::nullopt;
  std::optional<uint32_t> best_epoch = std::nullopt;  // From 0.
  uint32_t switches = 0;
  uint32_t restarts = 0;
  uint64_t peak_bytes = 0;
  uint64_t seed = 0;
  std::string error = {};    // Empty: none.
  std::string warning = {};  // Of its dataset. Empty: none.
};

// Returns the text of summary.json. What is not known is null.
std::string SummaryToJson(const RunSummary& summary);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_SUMMARY_H_
