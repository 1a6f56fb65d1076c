#include "tools/fgnn/reports/epoch_metrics.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/status.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

// Most bytes of a line. A line usually has about 1 KiB.
constexpr size_t kMaxLineBytes = 1 << 20;

}  // namespace

std::optional<double> NumberIn(const EpochMetrics& epoch, const char* key) {
  const auto found = epoch.find(key);
  if (found == epoch.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

absl::StatusOr<std::vector<EpochMetrics>> EpochMetricsReader::ReadNew() {
  std::vector<EpochMetrics> epochs;
  absl::Status read = ReadOn(epochs);
  if (absl::IsDataLoss(read)) {
    // The line may be of two writers: the file was cut and grew meanwhile.
    place_ = Place();
    read = ReadOn(epochs);
  }
  FGNN_RETURN_IF_ERROR(read);
  return epochs;
}

absl::StatusOr<FileLines> EpochMetricsReader::OpenAtPlace() {
  if (place_.line > 0) {
    FGNN_ASSIGN_OR_RETURN(FileLines file,
                          FileLines::Open(file_, kMaxLineBytes, place_.offset));
    FGNN_ASSIGN_OR_RETURN(const auto line, file.Next());
    const bool is_as_before =
        line.has_value() && file.is_whole() && *line == place_.text;
    if (is_as_before) return file;
    place_ = Place();
  }
  return FileLines::Open(file_, kMaxLineBytes);
}

absl::Status EpochMetricsReader::ReadOn(std::vector<EpochMetrics>& epochs) {
  absl::StatusOr<FileLines> file = OpenAtPlace();
  // A user who may watch a job may not be able to read its folder.
  if (absl::IsNotFound(file.status()) ||
      absl::IsPermissionDenied(file.status())) {
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(file.status());
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const auto line, file->Next());
    if (!line.has_value() || !file->is_whole()) return absl::OkStatus();
    if (place_.line == num_returned_) {
      EpochMetrics epoch = EpochMetrics::parse(*line, nullptr,
                                               /*allow_exceptions=*/false);
      if (!epoch.is_object()) {
        return absl::DataLossError(absl::StrCat(
            file_.string(), ":", place_.line + 1, ": not a JSON object"));
      }
      epochs.push_back(std::move(epoch));
      ++num_returned_;
    }
    if (place_.line > 0) place_.offset += place_.text.size() + 1;
    place_.text = std::string(*line);
    ++place_.line;
  }
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
    // Only batches of several parts have these stages.
    const bool is_of_parts = stage.stage == "shuffle" || stage.stage == "split";
    if (is_of_parts && stage.seconds <= 0) continue;
    table.AddRow({stage.stage, absl::StrFormat("%.3f", stage.seconds),
                  absl::StrFormat("%.1f %%", 100 * stage.share)});
  }
  return table.ToString();
}

}  // namespace fgnn
