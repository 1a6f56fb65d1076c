#include "scheduler/jobs/device_times.h"

#include <cmath>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "shared/base/file.h"
#include "shared/base/hash.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Of the file: one that another release wrote is not read.
constexpr int kVersion = 1;

std::string NameFor(const JobSpec& spec) {
  const ModelSpec& model = spec.model;
  const SamplingSpec& sampling = spec.sampling;
  const TrainingSpec& training = spec.training;
  const std::string key = absl::StrJoin(
      {absl::StrCat(kVersion),
       spec.dataset,
       model.kind,
       absl::StrCat(model.layers, " ", model.hidden, " ", model.heads, " ",
                    model.residual, " ", model.dropout, " ",
                    model.input_dropout, " ", model.attention_dropout),
       model.aggregator,
       model.normalization,
       model.plugin,
       model.file,
       sampling.kind,
       absl::StrJoin(sampling.fanouts, " "),
       sampling.weights,
       sampling.plugin,
       absl::StrCat(sampling.batch_size, " ", sampling.threads, " ",
                    sampling.replace, " ", sampling.resample, " ",
                    sampling.num_walks, " ", sampling.walk_length, " ",
                    sampling.walk_restart),
       training.task,
       training.precision,
       absl::StrCat(training.negatives, " ", training.exclude_seed_edges, " ",
                    training.threads),
       spec.cache.policy,
       absl::StrCat(spec.cache.capacity.value_or(-1), " ",
                    spec.cache.standby_capacity.value_or(-1)),
       spec.features.store,
       absl::StrCat(spec.features.ahead),
       absl::StrJoin(spec.devices, " ")},
      "\n");
  return absl::StrCat("times-", absl::Hex(HashString(key), absl::kZeroPad16),
                      ".json");
}

// A number of a file that anybody may have written.
double SecondsIn(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return 0;
  const double seconds = found->get<double>();
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

}  // namespace

DeviceTimesFile::DeviceTimesFile(const JobSpec& spec, const fs::path& state_dir)
    : devices_(spec.devices),
      with_dataset_(fs::path(spec.dataset) / "derived" / NameFor(spec)),
      with_state_(state_dir / "times" / NameFor(spec)) {}

std::optional<MeasuredTimes> DeviceTimesFile::Read() const {
  for (const fs::path& path : {with_dataset_, with_state_}) {
    const absl::StatusOr<std::string> text = ReadSmallFile(path);
    if (!text.ok()) continue;
    const auto json = nlohmann::json::parse(*text, nullptr,
                                            /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("devices") ||
        !json["devices"].is_array() ||
        json["devices"].size() != devices_.size()) {
      continue;
    }
    MeasuredTimes times;
    for (const auto& device : json["devices"]) {
      if (!device.is_object()) break;
      times.devices.push_back({.sample = SecondsIn(device, "sample"),
                               .train = SecondsIn(device, "train"),
                               .standby = SecondsIn(device, "standby")});
    }
    if (times.devices.size() != devices_.size()) continue;
    times.spread = SecondsIn(json, "spread");
    times.change_seconds = SecondsIn(json, "change_seconds");
    return times;
  }
  return std::nullopt;
}

absl::Status DeviceTimesFile::Write(const MeasuredTimes& times) const {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (size_t i = 0; i < times.devices.size(); ++i) {
    const DeviceCost& cost = times.devices[i];
    devices.push_back({{"device", devices_[i]},
                       {"sample", cost.sample},
                       {"train", cost.train},
                       {"standby", cost.standby}});
  }
  const std::string text =
      nlohmann::ordered_json({{"devices", devices},
                              {"spread", times.spread},
                              {"change_seconds", times.change_seconds}})
          .dump(2) +
      "\n";
  absl::Status status;
  for (const fs::path& path : {with_dataset_, with_state_}) {
    std::error_code ignored;
    fs::create_directory(path.parent_path(), ignored);
    status = WriteFileAtomically(path, text);
    if (status.ok()) return status;
  }
  return status;
}

}  // namespace fgnn
