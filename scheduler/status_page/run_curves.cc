#include "scheduler/status_page/run_curves.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 8> kNumbers = {
    "loss",     "seconds",  "batches",        "edges",
    "samplers", "trainers", "cache_hit_rate", "evaluate_seconds"};

// Returns the names of numbers that at least one of the lines has.
std::vector<std::string> ColumnsOf(const std::vector<ordered_json>& epochs) {
  std::vector<std::string> names(kNumbers.begin(), kNumbers.end());
  for (const Objective objective :
       {Objective::kClasses, Objective::kLinks, Objective::kValues,
        Objective::kLabelSets}) {
    for (const ScoreField& field : ScoreFields(objective)) {
      names.push_back(absl::StrCat("valid_", field.key));
    }
  }
  std::vector<std::string> columns = {"epoch"};
  for (const std::string& name : names) {
    const bool is_known = std::any_of(
        epochs.begin(), epochs.end(), [&](const ordered_json& epoch) {
          return epoch.value(name, ordered_json()).is_number();
        });
    const bool is_new =
        std::find(columns.begin(), columns.end(), name) == columns.end();
    if (is_known && is_new) columns.push_back(name);
  }
  return columns;
}

ordered_json NumberIn(const ordered_json& epoch, const std::string& name) {
  ordered_json value = epoch.value(name, ordered_json());
  return value.is_number() ? value : ordered_json();
}

void AddStages(const ordered_json& epoch, ordered_json& sums) {
  const auto stages = epoch.find("stages");
  if (stages == epoch.end() || !stages->is_object()) return;
  for (const auto& [name, seconds] : stages->items()) {
    if (!seconds.is_number()) continue;
    sums[name] = sums.value(name, 0.0) + seconds.get<double>();
  }
}

double Evaluation(const ordered_json& epoch) {
  const ordered_json seconds = NumberIn(epoch, "evaluate_seconds");
  return seconds.is_null() ? 0 : seconds.get<double>();
}

// Returns the devices of an epoch by their names; all else is left out.
std::vector<std::pair<std::string, ordered_json>> DevicesIn(
    const ordered_json& epoch) {
  std::vector<std::pair<std::string, ordered_json>> devices;
  const auto list = epoch.find("devices");
  if (list == epoch.end() || !list->is_array()) return devices;
  for (const ordered_json& device : *list) {
    if (!device.is_object()) continue;
    const ordered_json name = device.value("device", ordered_json());
    const ordered_json plan = device.value("plan", ordered_json());
    if (!name.is_string() || !plan.is_string()) continue;
    devices.emplace_back(name.get<std::string>(),
                         ordered_json{plan, NumberIn(device, "sampled"),
                                      NumberIn(device, "trained")});
  }
  return devices;
}

// Adds the devices' roles in an epoch, in the order of `names`, which it adds
// to.
void AddRoles(const ordered_json& epoch, ordered_json& names,
              ordered_json& roles) {
  ordered_json row = ordered_json::array();
  for (auto& [name, role] : DevicesIn(epoch)) {
    const auto found = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    while (row.size() <= at) row.push_back(nullptr);
    row[at] = std::move(role);
  }
  roles.push_back(std::move(row));
}

}  // namespace

ordered_json CurvesOf(const std::vector<std::string>& lines, size_t most_rows) {
  const size_t every = std::max<size_t>(
      (lines.size() + most_rows - 1) / std::max<size_t>(most_rows, 1), 1);
  std::vector<ordered_json> kept;  // Epochs that get a row.
  ordered_json stages = ordered_json::object();
  size_t count = 0;
  double evaluation = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    ordered_json epoch = ordered_json::parse(lines[i], nullptr,
                                             /*allow_exceptions=*/false);
    if (!epoch.is_object()) continue;
    ++count;
    AddStages(epoch, stages);
    evaluation += Evaluation(epoch);
    if ((lines.size() - 1 - i) % every == 0) kept.push_back(std::move(epoch));
  }
  if (count > 0) stages["evaluate"] = evaluation;
  const std::vector<std::string> columns = ColumnsOf(kept);
  ordered_json rows = ordered_json::array();
  ordered_json devices = ordered_json::array();
  ordered_json roles = ordered_json::array();
  for (const ordered_json& epoch : kept) {
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
