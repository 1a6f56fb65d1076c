// metrics.jsonl of a run's folder: a JSON line per finished epoch.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_
#define FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace fgnn {

// A line, in the order of its fields.
using EpochMetrics = nlohmann::ordered_json;

// Reads the lines that a growing file has gained. Not thread-safe.
class EpochMetricsReader {
 public:
  explicit EpochMetricsReader(std::filesystem::path file)
      : file_(std::move(file)) {}

  // The lines completed since the last call; none while the file is missing.
  // A last line without its newline waits for the next call. DataLoss names
  // the file and the line that is no JSON object. InvalidArgument: it is not a
  // plain file.
  absl::StatusOr<std::vector<EpochMetrics>> ReadNew();

 private:
  std::filesystem::path file_;
  uint64_t offset_ = 0;
  uint64_t line_ = 0;
};

struct StageTime {
  std::string stage;
  double seconds = 0;  // Summed over epochs and executors.
  double share = 0;    // Of all stages' seconds, in [0, 1].
};

// In the order in which the lines name the stages; last the evaluation of the
// epochs, "evaluate", where they say what it took.
std::vector<StageTime> SumStages(const std::vector<EpochMetrics>& epochs);

// The stage table, for people. Empty if no line names a stage.
std::string StageTableText(const std::vector<StageTime>& stages);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_
