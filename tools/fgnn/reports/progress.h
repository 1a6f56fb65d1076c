// Shows a job's progress: a bar refreshed in place on a terminal, a line per
// epoch elsewhere, or JSON lines.
#ifndef FGNN_TOOLS_FGNN_REPORTS_PROGRESS_H_
#define FGNN_TOOLS_FGNN_REPORTS_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "fgnn/v1/job_service.pb.h"
#include "shared/config/objective.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/reports/epoch_trend.h"

namespace fgnn {

// Returns "epoch 3/10 [=======>  ] 45/63  loss 0.8123  12.4 M edges/s  38 s
// left", at most `width` columns. The bar is the share of the epoch's batches.
// If it is too narrow, parts from the bar on are left out. While the job
// evaluates, returns "evaluating epoch 3 [=====>    ] 57 %", without the bar
// until it is known. Before the first epoch and after the last, returns the
// phase in words.
std::string ProgressLine(const v1::Job& job, int width);

// Returns the line of a finished epoch: "epoch 3/10  loss 0.7123  valid 76.12 %
// 4.1 s".
std::string EpochLine(const EpochMetrics& epoch, uint32_t num_epochs);

// Returns what the line has behind that: "  best 76.52 % in epoch 2  rate
// 0.003". What is not known is left out.
std::string TrendText(const EpochTrend& trend, Objective objective);

enum class ProgressStyle {
  kTerminal,  // A bar, and a line per epoch above it.
  kPlain,     // A line per phase and per epoch.
  kWarnings,  // The warning alone.
  kNothing,
  kJson,  // {"type": "progress" | "epoch", …}, one per line.
};

// Writes to `out`, which must outlive it. Not thread-safe.
class ProgressReporter {
 public:
  ProgressReporter(ProgressStyle style, std::ostream& out)
      : style_(style), out_(out) {}

  // Shows the job's present state, and each of its warnings once. `width` is
  // the terminal's, in columns.
  void Update(const v1::Job& job, int width);
  // Shows the job's warnings that were not shown yet.
  void TellWarnings(const v1::Job& job);
  // Shows a finished epoch of the job, from metrics.jsonl. The first call is
  // for epoch 1, and each other one for the next.
  void FinishEpoch(const EpochMetrics& epoch, const v1::Job& job);
  // Removes the bar, so that other text may follow.
  void Clear();

 private:
  // Prints a warning that is another one than `last`.
  void Warn(const std::string& warning, std::string* last);

  ProgressStyle style_;
  std::ostream& out_;
  std::string bar_;         // The bar that the terminal shows now.
  std::string last_phase_;  // Phase that was printed last, if there is no bar.
  // Warnings that were printed last; empty: none.
  std::string last_warning_;
  std::string last_checkpoint_warning_;
  std::optional<EpochTrend> trend_;  // Trend of the epochs; nullopt: none yet.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_PROGRESS_H_
