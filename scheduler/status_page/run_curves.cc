#include "scheduler/status_page/run_curves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/figures/epoch_sum.h"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 12> kNumbers = {
    "loss",        "seconds",     "batches",        "edges",
    "samplers",    "trainers",    "cache_hit_rate", "match_rate",
    "rows_loaded", "rows_remote", "message_bytes",  "evaluate_seconds"};

// The file may hold anything, so what comes out of it is bounded.
constexpr size_t kMostDevices = 64;

// Returns the names of numbers that at least one of the lines has.
std::vector<std::string> ColumnsOf(const std::vector<nlohmann::json>& epochs) {
  std::vector<std::string> names(kNumbers.begin(), kNumbers.end());
  for (const ScoreField& field : AllScoreFields()) {
    names.push_back(absl::StrCat("valid_", field.key));
  }
  std::vector<std::string> columns = {"epoch"};
  for (const std::string& name : names) {
    const bool is_known = std::any_of(
        epochs.begin(), epochs.end(), [&](const nlohmann::json& epoch) {
          return epoch.value(name, nlohmann::json()).is_number();
        });
    const bool is_new =
        std::find(columns.begin(), columns.end(), name) == columns.end();
    if (is_known && is_new) columns.push_back(name);
  }
  return columns;
}

ordered_json NumberIn(const nlohmann::json& epoch, const std::string& name) {
  const nlohmann::json value = epoch.value(name, nlohmann::json());
  return value.is_number() ? ordered_json(value) : ordered_json();
}

void AddStages(const nlohmann::json& epoch, ordered_json& sums) {
  const auto stages = epoch.find("stages");
  if (stages == epoch.end() || !stages->is_object()) return;
  for (const BatchStage& stage : BatchStages()) {
    const ordered_json seconds = NumberIn(*stages, stage.name);
    if (seconds.is_null()) continue;
    sums[stage.name] = sums.value(stage.name, 0.0) + seconds.get<double>();
  }
}

double EvaluationSeconds(const nlohmann::json& epoch) {
  const ordered_json seconds = NumberIn(epoch, "evaluate_seconds");
  return seconds.is_null() ? 0 : seconds.get<double>();
}

// Returns the devices of an epoch by their names; all else is left out.
std::vector<std::pair<std::string, ordered_json>> DevicesIn(
    const nlohmann::json& epoch) {
  std::vector<std::pair<std::string, ordered_json>> devices;
  const auto list = epoch.find("devices");
  if (list == epoch.end() || !list->is_array()) return devices;
  for (const nlohmann::json& device : *list) {
    if (devices.size() == kMostDevices) break;
    if (!device.is_object()) continue;
    const nlohmann::json name = device.value("device", nlohmann::json());
    const nlohmann::json plan = device.value("plan", nlohmann::json());
    if (!name.is_string() || !plan.is_string()) continue;
    devices.emplace_back(
        name.get<std::string>(),
        ordered_json{plan.get<std::string>(), NumberIn(device, "sampled"),
                     NumberIn(device, "trained")});
  }
  return devices;
}

// Adds the devices' roles in an epoch, in the order of `names`, which it adds
// to.
void AddRoles(const nlohmann::json& epoch, ordered_json& names,
              ordered_json& roles) {
  ordered_json row = ordered_json::array();
  for (auto& [name, role] : DevicesIn(epoch)) {
    const auto found = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<size_t>(found - names.begin());
    if (found == names.end()) {
      if (names.size() == kMostDevices) continue;
      names.push_back(name);
    }
    while (row.size() <= at) row.push_back(nullptr);
    row[at] = std::move(role);
  }
  roles.push_back(std::move(row));
}

}  // namespace

ordered_json CurvesOf(const std::vector<std::string>& lines, size_t most_rows) {
  const size_t every = std::max<size_t>(
      (lines.size() + most_rows - 1) / std::max<size_t>(most_rows, 1), 1);
  std::vector<nlohmann::json> kept;  // Epochs that get a row.
  ordered_json stages = ordered_json::object();
  size_t count = 0;
  double evaluation = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    nlohmann::json epoch =
        nlohmann::json::parse(lines[i], nullptr, /*allow_exceptions=*/false);
    if (!epoch.is_object()) continue;
    ++count;
    AddStages(epoch, stages);
    evaluation += EvaluationSeconds(epoch);
    if ((lines.size() - 1 - i) % every == 0) kept.push_back(std::move(epoch));
  }
  if (count > 0) stages["evaluate"] = evaluation;
  const std::vector<std::string> columns = ColumnsOf(kept);
  ordered_json rows = ordered_json::array();
  ordered_json devices = ordered_json::array();
  ordered_json roles = ordered_json::array();
  for (const nlohmann::json& epoch : kept) {
    ordered_json row = ordered_json::array();
    for (const std::string& name : columns) {
      row.push_back(NumberIn(epoch, name));
    }
    rows.push_back(std::move(row));
    AddRoles(epoch, devices, roles);
  }
  return {{"count", count},
          {"every", every},
          {"columns", columns},
          {"rows", std::move(rows)},
          {"stages", std::move(stages)},
          {"devices", std::move(devices)},
          {"roles", std::move(roles)}};
}

}  // namespace fgnn
