#include "shared/config/job_spec_proto.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/field_reader.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxJobFileBytes = 1 << 20;
constexpr absl::string_view kAuto = "auto";

// The only place where yaml-cpp may throw.
absl::StatusOr<YAML::Node> LoadYaml(std::string_view text,
                                    const YamlOrigin& origin) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    const std::string line = origin.has_lines && !error.mark.is_null()
                                 ? absl::StrCat(":", error.mark.line + 1)
                                 : "";
    return absl::InvalidArgumentError(
        absl::StrCat(origin.name, line, ": not YAML: ", error.msg));
  }
}

// The message that holds the field of a dotted key, and that field.
struct Place {
  Message* message;
  const FieldDescriptor* field;
  std::string prefix;
};

absl::StatusOr<Place> FindPlace(const std::string& key, v1::JobSpec* spec) {
  Place place = {spec, nullptr, ""};
  for (size_t begin = 0; begin <= key.size();) {
    const size_t dot = std::min(key.find('.', begin), key.size());
    const std::string name = key.substr(begin, dot - begin);
    if (place.field != nullptr) {  // Not the last word: go down.
      if (place.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        return absl::InvalidArgumentError(absl::StrCat(
            FieldPath(place.prefix, *place.field), " has no keys within"));
      }
      place.prefix = FieldPath(place.prefix, *place.field);
      place.message = place.message->GetReflection()->MutableMessage(
          place.message, place.field);
    }
    const Descriptor& descriptor = *place.message->GetDescriptor();
    place.field = descriptor.FindFieldByName(name);
    if (place.field == nullptr) {
      return UnknownKey(name, place.prefix, descriptor);
    }
    begin = dot + 1;
  }
  return place;
}

absl::Status MakeDatasetAbsolute(const fs::path& folder, v1::JobSpec* spec) {
  std::error_code error;
  const fs::path base = fs::absolute(folder / ".", error);
  if (error) {
    return ErrnoToStatus(error.value(),
                         absl::StrCat("find folder ", folder.string()));
  }
  if (!spec->dataset().empty()) {
    spec->set_dataset((base / spec->dataset()).lexically_normal().string());
  }
  return absl::OkStatus();
}

absl::Status ApplyOverride(const std::string& text, v1::JobSpec* spec) {
  const YamlOrigin origin = {absl::StrCat("--set ", text), false};
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin.name, ": write KEY=VALUE, e.g. training.epochs=3"));
  }
  FGNN_ASSIGN_OR_RETURN(const YAML::Node value,
                        LoadYaml(text.substr(equals + 1), origin));
  const absl::StatusOr<Place> place = FindPlace(text.substr(0, equals), spec);
  if (!place.ok()) return Annotate(place.status(), origin.name);
  FGNN_RETURN_IF_ERROR(
      ReadField(value, origin, place->prefix, *place->field, place->message));
  return place->message == spec && place->field->name() == "dataset"
             ? MakeDatasetAbsolute(".", spec)
             : absl::OkStatus();
}

absl::Status CheckHops(const v1::JobSpec& spec) {
  const int hops = spec.sampling().fanouts_size();
  for (int hop = 0; hop < hops; ++hop) {
    if (spec.sampling().fanouts(hop) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sampling.fanouts: 0 for hop ", hop + 1,
          " is out of range; give 1 to 65535, or -1 for all neighbours"));
    }
  }
  if (static_cast<uint32_t>(hops) != spec.model().layers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.layers is ", spec.model().layers(),
        " but sampling.fanouts lists ", hops, hops == 1 ? " hop" : " hops",
        "; give one fanout per layer"));
  }
  return absl::OkStatus();
}

// Keys that an algorithm does not know would be silently ignored.
absl::Status CheckAlgorithm(const v1::JobSpec& spec) {
  const v1::SamplingSpec& sampling = spec.sampling();
  const bool walks = sampling.kind() == "random_walk";
  if (sampling.replace() && sampling.kind() != "khop" &&
      sampling.kind() != "khop_weighted") {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.replace is true, but ", sampling.kind(),
                     " draws no neighbour twice; leave it out, or use khop or "
                     "khop_weighted"));
  }
  if ((sampling.kind() == "plugin") == sampling.plugin().empty()) {
    return absl::InvalidArgumentError(
        sampling.plugin().empty()
            ? "sampling.plugin is missing; name the plugin"
            : absl::StrCat("sampling.plugin is '", sampling.plugin(),
                           "', but sampling.kind is ", sampling.kind(),
                           "; make it plugin"));
  }
  if (sampling.weights().empty() ||
      fs::path(sampling.weights()).filename() != sampling.weights()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.weights: '", sampling.weights(),
                     "' is not the name of a file in the dataset's folder"));
  }
  constexpr uint64_t kMaxSteps = 4096;
  const uint64_t steps =
      uint64_t{sampling.walks().num()} * sampling.walks().length();
  if (steps > kMaxSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.walks: num * length is ", steps, "; at most ",
                     kMaxSteps, " steps of a destination are counted"));
  }
  for (const int32_t fanout : sampling.fanouts()) {
    if (walks && fanout < 0) {
      return absl::InvalidArgumentError(
          "sampling.fanouts: -1 means all neighbours, but random_walk keeps "
          "the most visited vertices; give how many");
    }
  }
  return absl::OkStatus();
}

// Canonical names, no core twice. Which cores there are is for the scheduler.
absl::Status CheckDevices(v1::JobSpec* spec) {
  std::map<int, std::string> taken;
  for (std::string& name : *spec->mutable_devices()) {
    const absl::StatusOr<Device> device = ParseDeviceName(name);
    if (!device.ok()) return Annotate(device.status(), "devices");
    for (const int core : device->cores) {
      const auto [it, is_new] = taken.emplace(core, device->name);
      if (!is_new) {
        return absl::InvalidArgumentError(
            absl::StrCat("devices: ", it->second, " and ", device->name,
                         " share core ", core, "; give each its own cores"));
      }
    }
    name = device->name;
  }
  if (spec->devices().empty()) {
    return absl::InvalidArgumentError(
        "devices is empty; name at least one, e.g. [cpu:0]");
  }
  return absl::OkStatus();
}

// nullopt: "auto".
absl::StatusOr<std::optional<uint64_t>> MemoryLimit(const v1::JobSpec& spec) {
  const std::string& text = spec.limits().memory();
  if (text == kAuto) return std::nullopt;
  const absl::StatusOr<uint64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("limits.memory: ", bytes.status().message(), ", or auto"));
  }
  if (*bytes == 0) {
    return absl::InvalidArgumentError(
        "limits.memory: 0 is out of range; write e.g. 2GiB, or auto");
  }
  return *bytes;
}

// The share; nullopt: auto, or no number.
std::optional<double> CapacityOf(const v1::CacheSpec& cache) {
  double share = 0;
  if (!absl::SimpleAtod(cache.capacity(), &share)) return std::nullopt;
  return share;
}

absl::Status CheckCache(const v1::JobSpec& spec) {
  const v1::CacheSpec& cache = spec.cache();
  const std::string& text = cache.capacity();
  const std::optional<double> share = CapacityOf(cache);
  if (text != kAuto && !(share.has_value() && *share >= 0 && *share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cache.capacity: '", text,
                     "' is not a share of the vertices; give 0 to 1, or auto"));
  }
  if ((cache.policy() == "plugin") == cache.plugin().empty()) {
    return absl::InvalidArgumentError(
        cache.plugin().empty()
            ? "cache.plugin is missing; name the plugin"
            : absl::StrCat("cache.plugin is '", cache.plugin(),
                           "', but cache.policy is ", cache.policy(),
                           "; make it plugin"));
  }
  if (cache.policy() == "online" &&
      cache.epochs() >= spec.training().epochs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cache.policy online counts during ", cache.epochs(),
        " epochs (cache.epochs) and caches in those after them, but "
        "training.epochs is ",
        spec.training().epochs(), "; train longer, or use presc"));
  }
  return absl::OkStatus();
}

absl::Status CheckTraining(const v1::TrainingSpec& training) {
  if (training.momentum() > 0 && training.optimizer() != "sgd") {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.momentum is ", training.momentum(),
        ", but training.optimizer is ", training.optimizer(),
        ", which has moments of its own; leave it out, or use sgd"));
  }
  if (training.patience() > 0 && training.evaluate_every() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.patience is ", training.patience(),
        ", but training.evaluate_every is 0, so that no epoch is validated; "
        "leave one of them out"));
  }
  if (training.schedule() != "plateau") return absl::OkStatus();
  if (training.evaluate_every() == 0) {
    return absl::InvalidArgumentError(
        "training.schedule is plateau, but training.evaluate_every is 0, so "
        "that no epoch is validated; validate, or use another schedule");
  }
  if (training.patience() > 0 &&
      training.patience() <= training.plateau_epochs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.patience is ", training.patience(),
        " and training.plateau_epochs ", training.plateau_epochs(),
        ", so that the job would stop before its learning rate is lowered; "
        "let the job be more patient"));
  }
  return absl::OkStatus();
}

absl::Status Complete(const std::vector<std::string>& default_devices,
                      v1::JobSpec* spec) {
  if (spec->devices().empty()) {
    spec->mutable_devices()->Add(default_devices.begin(),
                                 default_devices.end());
  }
  FGNN_RETURN_IF_ERROR(FillDefaults("", spec));
  FGNN_RETURN_IF_ERROR(CheckFields("", *spec));
  FGNN_RETURN_IF_ERROR(CheckHops(*spec));
  FGNN_RETURN_IF_ERROR(CheckAlgorithm(*spec));
  FGNN_RETURN_IF_ERROR(CheckDevices(spec));
  FGNN_RETURN_IF_ERROR(CheckTraining(spec->training()));
  FGNN_RETURN_IF_ERROR(CheckCache(*spec));
  FGNN_RETURN_IF_ERROR(MemoryLimit(*spec).status());
  if (!fs::path(spec->dataset()).is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset: '", spec->dataset(), "' is not an absolute path"));
  }
  if (spec->training().batches_per_step() == 0) {
    spec->mutable_training()->set_batches_per_step(
        static_cast<uint32_t>(spec->devices_size()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJobYaml(std::string_view yaml,
                                         std::string_view origin) {
  const YamlOrigin file = {std::string(origin), true};
  const absl::StatusOr<YAML::Node> root = LoadYaml(yaml, file);
  if (!root.ok()) return InOneLine(root.status());
  v1::JobSpec spec;
  FGNN_RETURN_IF_ERROR(InOneLine(ReadMessage(*root, file, "", &spec)));
  return spec;
}

absl::StatusOr<v1::JobSpec> ReadJobFile(
    const fs::path& path, const std::vector<std::string>& overrides) {
  FGNN_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(path, kMaxJobFileBytes));
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec spec, ParseJobYaml(text, path.string()));
  FGNN_RETURN_IF_ERROR(MakeDatasetAbsolute(path.parent_path(), &spec));
  for (const std::string& text_of_override : overrides) {
    FGNN_RETURN_IF_ERROR(InOneLine(ApplyOverride(text_of_override, &spec)));
  }
  return spec;
}

absl::StatusOr<v1::JobSpec> MakeEffective(
    v1::JobSpec spec, const std::vector<std::string>& default_devices) {
  FGNN_RETURN_IF_ERROR(InOneLine(Complete(default_devices, &spec)));
  return spec;
}

JobSpec FromProto(const v1::JobSpec& from) {
  JobSpec to;
  to.dataset = from.dataset();
  to.model = {from.model().kind(), from.model().layers(), from.model().hidden(),
              from.model().dropout(), from.model().input_dropout()};
  to.sampling = {
      from.sampling().kind(),
      {from.sampling().fanouts().begin(), from.sampling().fanouts().end()},
      from.sampling().batch_size(),
      from.sampling().threads(),
      from.sampling().replace(),
      from.sampling().resample(),
      from.sampling().weights(),
      from.sampling().walks().num(),
      from.sampling().walks().length(),
      from.sampling().walks().restart(),
      from.sampling().plugin()};
  const v1::TrainingSpec& training = from.training();
  to.training = {.epochs = training.epochs(),
                 .optimizer = training.optimizer(),
                 .momentum = training.momentum(),
                 .learning_rate = training.learning_rate(),
                 .schedule = training.schedule(),
                 .plateau_epochs = training.plateau_epochs(),
                 .warmup_steps = training.warmup_steps(),
                 .weight_decay = training.weight_decay(),
                 .clip_norm = training.clip_norm(),
                 .seed = training.seed(),
                 .batches_per_step = training.batches_per_step(),
                 .sync = training.sync(),
                 .precision = training.precision(),
                 .evaluate_every = training.evaluate_every(),
                 .patience = training.patience(),
                 .checkpoint_every = training.checkpoint_every(),
                 .checkpoint_steps = training.checkpoint_steps(),
                 .keep_checkpoints = training.keep_checkpoints(),
                 .threads = training.threads()};
  to.cache = {from.cache().policy(), CapacityOf(from.cache()),
              from.cache().epochs(), from.cache().plugin()};
  to.devices = {from.devices().begin(), from.devices().end()};
  to.samplers = from.samplers();
  to.trainers = from.trainers();
  to.queue_slots = from.queue().slots();
  // An effective spec has been through MakeEffective(), so this is a number.
  to.limits.memory_bytes = MemoryLimit(from).value_or(std::nullopt);
  to.limits.restarts = from.limits().restarts();
  to.features.store = from.features().store();
  to.features.ahead = from.features().ahead();
  return to;
}

}  // namespace fgnn
