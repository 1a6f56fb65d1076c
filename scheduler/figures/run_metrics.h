// metrics.jsonl of a run's folder: a line for each epoch, in their order.
//
// Line n is of epoch n, and its `epoch` is n. Earlier releases counted epochs
// from 0, in metrics.jsonl and in summary.json. A run that they began goes on
// in its old form in both files, because checkpoints know the length of
// metrics.jsonl. Readers number epochs by their lines.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_METRICS_H_
#define FGNN_SCHEDULER_FIGURES_RUN_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "shared/measured/scores.h"

namespace fgnn {

inline constexpr char kMetricsName[] = "metrics.jsonl";

// Returns the `epoch` of the first line: 0 if an earlier release began the
// file, else 1. 1: there is no whole first line, or it cannot be read.
uint32_t FirstEpochNumber(const std::filesystem::path& run_dir);

// Calls `add` for each epoch that has a line, in order, with the scores of its
// validation, without ROC-AUC and mean rank. Returns the bytes of these lines.
// DataLoss: RunFolder::AppendMetrics() did not write a line.
absl::StatusOr<uint64_t> ReadMetrics(
    const std::filesystem::path& run_dir,
    absl::FunctionRef<void(const Scores&)> add);

// Returns whole lines of the epochs after epoch `after_epoch` (0: of all),
// until they have `enough_bytes` or more. Their `epoch` counts from 1 whatever
// the form of the file. Returns none if the run has no such epoch, or no
// metrics yet.
absl::StatusOr<std::vector<std::string>> ReadMetricsLines(
    const std::filesystem::path& run_dir, uint32_t after_epoch,
    size_t enough_bytes);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_METRICS_H_
