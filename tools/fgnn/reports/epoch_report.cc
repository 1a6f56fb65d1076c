#include "tools/fgnn/reports/epoch_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

struct Medians {
  uint64_t batches = 0;  // Number of every epoch's batches.
  double seconds = 0;
  std::vector<StageTime> stages;  // Seconds of an epoch, over all executors.

  double milliseconds_per_batch() const {
    return 1e3 * seconds / static_cast<double>(batches);
  }
};

Medians MediansOf(const std::vector<EpochMetrics>& epochs) {
  Medians medians;
  medians.batches = epochs.front().value("batches", uint64_t{0});
  std::vector<double> seconds;
  for (const EpochMetrics& epoch : epochs) {
    seconds.push_back(epoch.value("seconds", 0.0));
  }
  medians.seconds = Median(seconds);
  double total = 0;
  for (const auto& [stage, ignored] : epochs.front()["stages"].items()) {
    std::vector<double> values;
    for (const EpochMetrics& epoch : epochs) {
      values.push_back(epoch["stages"].value(stage, 0.0));
    }
    medians.stages.push_back({stage, Median(values), 0});
    total += medians.stages.back().seconds;
  }
  for (StageTime& stage : medians.stages) {
    stage.share = total > 0 ? stage.seconds / total : 0;
  }
  return medians;
}

}  // namespace

ordered_json ToJson(const EpochReport& report) {
  const v1::JobSpec& spec = report.spec;
  const Medians medians = MediansOf(report.epochs);
  ordered_json stages = ordered_json::object();
  for (const StageTime& stage : medians.stages) {
    stages[stage.stage] = stage.seconds;
  }
  return {{"model", spec.model().kind()},
          {"layers", spec.model().layers()},
          {"hidden", spec.model().hidden()},
          {"fanouts", std::vector<int32_t>(spec.sampling().fanouts().begin(),
                                           spec.sampling().fanouts().end())},
          {"batch_size", spec.sampling().batch_size()},
          {"precision", spec.training().precision()},
          {"devices", std::vector<std::string>(spec.devices().begin(),
                                               spec.devices().end())},
          {"epochs", report.epochs.size()},
          {"batches", medians.batches},
          {"seconds", medians.seconds},
          {"milliseconds_per_batch", medians.milliseconds_per_batch()},
          {"stages", stages}};
}

std::string ToText(const EpochReport& report) {
  const v1::JobSpec& spec = report.spec;
  const Medians medians = MediansOf(report.epochs);
  return absl::StrCat(
      spec.model().kind(), ", ", spec.model().layers(), " layers of ",
      spec.model().hidden(), ", ", spec.training().precision(), ", [",
      absl::StrJoin(spec.sampling().fanouts(), ", "), "], ",
      FormatCount(spec.sampling().batch_size()), " seeds a batch, on ",
      absl::StrJoin(spec.devices(), " "), "\n",
      absl::StrFormat(
          "%.2f ms a batch, %s for the %s batches of an epoch: "
          "medians of %d %s\n\n",
          medians.milliseconds_per_batch(), FormatSeconds(medians.seconds),
          FormatCount(medians.batches), report.epochs.size(), report.counted),
      StageTableText(medians.stages));
}

}  // namespace fgnn
