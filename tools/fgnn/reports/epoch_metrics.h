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

// A line; its fields keep their order.
using EpochMetrics = nlohmann::ordered_json;

// Reads the lines that were added to a growing file. Not thread-safe.
class EpochMetricsReader {
 public:
  explicit EpochMetricsReader(std::filesystem::path file)
      : file_(std::move(file)) {}

  // Returns the lines completed since the last call; none while the file is
  // missing. A last line without its newline waits for the next call. DataLoss,
  // naming file and line: a line is no JSON object. InvalidArgument: it is not
  // a plain file.
  absl::StatusOr<std::vector<EpochMetrics>> ReadNew();

 private:
  std::filesystem::path file_;
  uint64_t offset_ = 0;
  uint64_t line_ = 0;
};

struct StageTime {
  std::string stage;
  double seconds = 0;  // Sum over epochs and executors.
  double share = 0;    // Share of all stages' seconds, in [0, 1].
};

// Returns the stages in the order in which the lines name them. The last is
// "evaluate", the evaluation of the epochs, if the lines have its time.
std::vector<StageTime> SumStages(const std::vector<EpochMetrics>& epochs);

// Returns the table of stages, for people. Empty if no line names a stage.
std::string StageTableText(const std::vector<StageTime>& stages);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_
