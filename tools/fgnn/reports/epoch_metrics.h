// metrics.jsonl of a run's folder: a JSON line per finished epoch.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_
#define FGNN_TOOLS_FGNN_REPORTS_EPOCH_METRICS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "shared/base/files/file_lines.h"

namespace fgnn {

// A line; its fields keep their order. Its `epoch` counts from 1.
using EpochMetrics = nlohmann::ordered_json;

// Returns a number of the line; nullopt: it has none of this name.
std::optional<double> NumberIn(const EpochMetrics& epoch, const char* key);

// Reads the lines that were added to a growing file. A run that goes back to a
// checkpoint cuts the file, and writes later epochs again; each epoch counts
// once. Not thread-safe.
class EpochMetricsReader {
 public:
  explicit EpochMetricsReader(std::filesystem::path file)
      : file_(std::move(file)) {}

  // Returns the lines of the epochs that were completed and that no earlier
  // call has returned; none while the file is missing. A last line without its
  // newline waits for the next call. DataLoss, naming file and line: a line is
  // no JSON object. InvalidArgument: it is not a plain file.
  absl::StatusOr<std::vector<EpochMetrics>> ReadNew();

 private:
  // The last line that was read.
  struct Place {
    uint64_t line = 0;    // Its number, from 1; 0: none was read yet.
    uint64_t offset = 0;  // Bytes of the file before it.
    std::string text;
  };
  // Opens the file after the last line that was read. If that line is not there
  // any more, the file went back, and is read from its start.
  absl::StatusOr<FileLines> OpenAtPlace();
  absl::Status ReadOn(std::vector<EpochMetrics>& epochs);

  std::filesystem::path file_;
  Place place_;
  uint64_t num_returned_ = 0;  // Number of epochs returned, from the first on.
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
