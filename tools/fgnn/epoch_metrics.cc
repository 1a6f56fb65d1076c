#include "tools/fgnn/epoch_metrics.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/fgnn/text_table.h"

namespace fgnn {

absl::StatusOr<std::vector<EpochMetrics>> EpochMetricsReader::ReadNew() {
  std::vector<EpochMetrics> epochs;
  std::ifstream in(file_, std::ios::binary);
  if (!in) return epochs;
  in.seekg(static_cast<std::streamoff>(offset_));
  const std::string gained((std::istreambuf_iterator<char>(in)),
                           std::istreambuf_iterator<char>());
  size_t begin = 0;
  for (size_t end = gained.find('\n'); end != std::string::npos;
       begin = end + 1, end = gained.find('\n', begin)) {
    ++line_;
    const EpochMetrics line = EpochMetrics::parse(
        gained.begin() + static_cast<std::ptrdiff_t>(begin),
        gained.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
        /*allow_exceptions=*/false);
    if (!line.is_object()) {
      return absl::DataLossError(
          absl::StrCat(file_.string(), ":", line_, ": not a JSON object"));
    }
    epochs.push_back(line);
  }
  offset_ += begin;
  return epochs;
}

std::vector<StageTime> SumStages(const std::vector<EpochMetrics>& epochs) {
  std::vector<StageTime> stages;
  double total = 0;
  const auto add = [&](const std::string& name, const EpochMetrics& seconds) {
    if (!seconds.is_number()) return;
    auto sum =
        std::find_if(stages.begin(), stages.end(),
                     [&](const StageTime& s) { return s.stage == name; });
    if (sum == stages.end()) {
      sum = stages.insert(stages.end(), StageTime{name, 0, 0});
    }
    sum->seconds += seconds.get<double>();
    total += seconds.get<double>();
  };
  for (const EpochMetrics& epoch : epochs) {
    const auto found = epoch.find("stages");
    if (found == epoch.end() || !found->is_object()) continue;
    for (const auto& [stage, seconds] : found->items()) add(stage, seconds);
  }
  for (const EpochMetrics& epoch : epochs) {
    const auto found = epoch.find("evaluate_seconds");
    if (found != epoch.end()) add("evaluate", *found);
  }
  for (StageTime& stage : stages) {
    stage.share = total > 0 ? stage.seconds / total : 0;
  }
  return stages;
}

std::string StageTableText(const std::vector<StageTime>& stages) {
  if (stages.empty()) return "";
  TextTable table({"stage", "seconds", "share"}, {1, 2});
  for (const StageTime& stage : stages) {
    table.AddRow({stage.stage, absl::StrFormat("%.3f", stage.seconds),
                  absl::StrFormat("%.1f %%", 100 * stage.share)});
  }
  return table.ToString();
}

}  // namespace fgnn
