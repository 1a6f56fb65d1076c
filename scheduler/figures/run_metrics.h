// metrics.jsonl of a run's folder: a line for each epoch, in their order.
//
// Line n is of epoch n, and its `epoch` is n.
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

// Calls `add` for each epoch that has a line, in order, with the scores of its
// validation, without ROC-AUC and mean rank. Returns the bytes of these lines.
// DataLoss: RunFolder::AppendMetrics() did not write a line.
absl::StatusOr<uint64_t> ReadMetrics(
    const std::filesystem::path& run_dir,
    absl::FunctionRef<void(const Scores&)> add);

// Returns whole lines of the epochs after epoch `after_epoch` (0: of all),
// until they have `enough_bytes` or more. Returns none if the run has no such
// epoch, or no metrics yet.
absl::StatusOr<std::vector<std::string>> ReadMetricsLines(
    const std::filesystem::path& run_dir, uint32_t after_epoch,
    size_t enough_bytes);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_METRICS_H_
