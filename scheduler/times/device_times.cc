#include "scheduler/times/device_times.h"

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "scheduler/planning/placement.h"
#include "shared/base/hash.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Version of the file; the file of a release with another version is not read.
constexpr int kVersion = 1;

// Returns what parts add to the name of the file; nothing for whole batches, so
// that the files of earlier releases are found.
std::string PartsIn(const TrainingSpec& training) {
  return training.parts <= 1 ? "" : absl::StrCat(" ", training.parts);
}

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
       model.class_name,
       sampling.kind,
       absl::StrJoin(sampling.fanouts, " "),
       sampling.weights,
       sampling.plugin,
       absl::StrCat(sampling.batch_size, " ", sampling.threads, " ",
                    sampling.replace, " ", sampling.resample, " ",
                    sampling.num_walks, " ", sampling.walk_length, " ",
                    sampling.walk_restart, " ", sampling.batch_dependency, " ",
                    sampling.matched_window()),
       training.task,
       training.precision,
       absl::StrCat(training.negatives, " ", training.exclude_seed_edges, " ",
                    training.threads),
       spec.cache.policy,
       absl::StrCat(spec.cache.capacity.value_or(-1), " ",
                    spec.cache.standby_capacity.value_or(-1)),
       absl::StrCat(spec.features.store, PartsIn(training)),
       absl::StrCat(spec.features.ahead, " ", spec.features.match),
       absl::StrJoin(NamesOf(spec.devices), " ")},
      "\n");
  return absl::StrCat("times-", absl::Hex(HashString(key), absl::kZeroPad16),
                      ".json");
}

// Returns a number of the file, which anybody may have written; 0: it is no
// valid time.
double SecondsIn(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return 0;
  const double seconds = found->get<double>();
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

// Returns the cores that do the work of a device; 1 of a GPU.
double CoresOf(const Device& device) {
  if (device.kind != DeviceKind::kCpu) return 1;
  return static_cast<double>(device.cores.size());
}

// Fills in times of some devices that are not known with the mean of the known
// ones. Returns false if none is known.
bool FillWithMean(const std::vector<DeviceTimes*>& times,
                  double DeviceTimes::*member) {
  double sum = 0;
  int known = 0;
  for (const DeviceTimes* device : times) {
    sum += device->*member;
    known += device->*member > 0 ? 1 : 0;
  }
  for (DeviceTimes* device : times) {
    if (device->*member <= 0 && known > 0) device->*member = sum / known;
  }
  return known > 0;
}

}  // namespace

TimesByKind ProfiledTimes(const PlanInput& input) {
  const std::vector<ExecutorPlacement> executors = ExecutorsOf(input.spec);
  // Times are of tasks.
  const double parts = std::max(input.spec.training.parts, 1U);
  TimesByKind times;
  for (const DeviceKind kind : KindsWith(ExecutorRole::kSampler, executors)) {
    times.On(kind).sample = SamplingOn(input, kind).seconds_per_batch / parts;
  }
  for (const DeviceKind kind : KindsWith(ExecutorRole::kTrainer, executors)) {
    times.On(kind).train = input.training.seconds_per_batch / parts;
  }
  return times;
}

void FillIn(const JobSpec& spec, const TimesByKind& profiled,
            MeasuredTimes* times) {
  times->devices.resize(spec.devices.size());
  std::map<DeviceKind, double> cores;  // Cores of the first device of a kind.
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const DeviceKind kind = spec.devices[i].kind;
    const double own_cores = CoresOf(spec.devices[i]);
    const double slower =
        cores.emplace(kind, own_cores).first->second / own_cores;
    const DeviceTimes& first = profiled.On(kind);
    DeviceTimes& device = times->devices[i];
    if (device.sample <= 0) {
      device.sample =
          first.sample * (spec.sampling.threads == 0 ? slower : 1.0);
    }
    if (device.train <= 0) {
      device.train = first.train * (spec.training.threads == 0 ? slower : 1.0);
    }
  }
}

std::optional<std::vector<DeviceTimes>> CompleteTimes(
    const JobSpec& spec, const MeasuredTimes& times) {
  std::vector<DeviceTimes> devices = times.devices;
  if (devices.size() != spec.devices.size()) return std::nullopt;
  const bool mixes = !DevicesThatOnlySample(spec.devices).empty();
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    std::vector<DeviceTimes*> alike;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (spec.devices[i].kind == kind) alike.push_back(&devices[i]);
    }
    if (alike.empty()) continue;
    const bool trains = kind == DeviceKind::kCuda || !mixes;
    if (!FillWithMean(alike, &DeviceTimes::sample) ||
        (trains && !FillWithMean(alike, &DeviceTimes::train))) {
      return std::nullopt;
    }
  }
  return devices;
}

DeviceTimesFile::DeviceTimesFile(const JobSpec& spec, const fs::path& state_dir)
    : devices_(NamesOf(spec.devices)),
      files_(spec.dataset, state_dir),
      name_(NameFor(spec)) {}

std::optional<MeasuredTimes> DeviceTimesFile::Read() const {
  for (const DerivedPlace place : kDerivedPlaces) {
    const absl::StatusOr<MappedFile> file = files_.Map(place, name_);
    if (!file.ok()) continue;
    const auto* const text =
        reinterpret_cast<const char*>(file->bytes().data());
    const auto json =
        nlohmann::json::parse(text, text + file->bytes().size(), nullptr,
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
    const DeviceTimes& device = times.devices[i];
    devices.push_back({{"device", devices_[i]},
                       {"sample", device.sample},
                       {"train", device.train},
                       {"standby", device.standby}});
  }
  const std::string text =
      nlohmann::ordered_json({{"devices", devices},
                              {"spread", times.spread},
                              {"change_seconds", times.change_seconds}})
          .dump(2) +
      "\n";
  return files_.Keep(name_, {std::string_view(text)});
}

}  // namespace fgnn
