#include "trainer_service/checkpoint/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"
#include "trainer_service/checkpoint/safetensors.h"

namespace fgnn {
namespace {

constexpr uint64_t kFormatVersion = 5;
constexpr char kFormat[] = "fgnn-checkpoint";
constexpr char kClassNames[] = "class_names";
constexpr char kFeatureNames[] = "feature_names";
constexpr char kTargetNames[] = "target_names";
constexpr char kSync[] = "sync";
constexpr char kGpu[] = "gpu";
constexpr char kOptimizerPrefix[] = "optimizer.";
constexpr const char* kMomentPrefixes[] = {"optimizer.m.", "optimizer.v."};
constexpr const char* kMomentumPrefix[] = {"optimizer.momentum."};

// Returns the prefixes of tensor names, one per P floats of an optimizer that
// keeps `floats` floats of each weight. nullopt: there is no such optimizer.
std::optional<absl::Span<const char* const>> StatePrefixes(uint64_t floats) {
  switch (floats) {
    case 0:
      return absl::Span<const char* const>();
    case 1:
      return kMomentumPrefix;
    case 2:
      return kMomentPrefixes;
    default:
      return std::nullopt;
  }
}

using Metadata = std::map<std::string, std::string>;

// Returns the shortest text that reads back as the same number.
std::string TextOf(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

Metadata MetadataOf(const CheckpointInfo& info) {
  const ModelOptions& model = info.model;
  return {{"format", kFormat},
          {"format_version", absl::StrCat(kFormatVersion)},
          {"job_id", info.job_id},
          {"version", absl::StrCat(info.version)},
          {"epoch", absl::StrCat(info.epoch)},
          {"seed", absl::StrCat(info.seed)},
          {"run_state", info.run_state},
          {"task", std::string(TaskOf(model.objective))},
          {"model.kind", model.kind},
          {"model.layers", absl::StrCat(model.layers)},
          {"model.hidden", absl::StrCat(model.hidden)},
          {"model.input_columns", absl::StrCat(model.input_columns)},
          {"model.num_classes", absl::StrCat(model.num_classes)},
          {"model.dropout", TextOf(model.dropout)},
          {"model.input_dropout", TextOf(model.input_dropout)},
          {"model.aggregator", model.aggregator},
          {"model.heads", absl::StrCat(model.heads)},
          {"model.attention_dropout", TextOf(model.attention_dropout)},
          {"model.normalization", model.normalization},
          {"model.residual", model.residual ? "1" : "0"},
          {"model.degree_norm", model.degree_norm}};
}

void AddUsersCode(const CheckpointInfo& info, Metadata* metadata) {
  if (!info.model.is_users()) return;
  (*metadata)["model.plugin"] = info.model.plugin;
  (*metadata)["model.file"] = info.model.file;
  (*metadata)["model.code_crc32c"] = absl::StrCat(info.code_crc32c);
}

// How and where it was trained, where that is not the host's way.
void AddTraining(const CheckpointInfo& info, Metadata* metadata) {
  if (!info.sync.empty()) (*metadata)[kSync] = info.sync;
  if (!info.gpu.empty()) (*metadata)[kGpu] = info.gpu;
}

// A name holds no line end.
void AddNames(const DatasetNames& names, Metadata* metadata) {
  if (!names.classes.empty()) {
    (*metadata)[kClassNames] = absl::StrJoin(names.classes, "\n");
  }
  if (!names.features.empty()) {
    (*metadata)[kFeatureNames] = absl::StrJoin(names.features, "\n");
  }
  if (!names.targets.empty()) {
    (*metadata)[kTargetNames] = absl::StrJoin(names.targets, "\n");
  }
}

// Returns the names that are there, at most `most`.
std::vector<std::string> NamesIn(const Metadata& metadata, const char* key,
                                 uint64_t most) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second.empty()) return {};
  std::vector<std::string> names = absl::StrSplit(found->second, '\n');
  names.resize(std::min<uint64_t>(names.size(), most));
  return names;
}

std::vector<ParameterInfo> ParametersOf(const CheckpointInfo& info) {
  return info.model.is_users() ? info.parameters : ParametersOf(info.model);
}

uint64_t NumFloats(const std::vector<ParameterInfo>& parameters) {
  uint64_t sum = 0;
  for (const ParameterInfo& parameter : parameters) sum += parameter.size();
  return sum;
}

// Returns the parameters of a user's model: the tensors that are no
// optimizer's.
std::vector<ParameterInfo> ParametersIn(const SafetensorsFile& file) {
  std::vector<ParameterInfo> parameters;
  uint64_t offset = 0;
  for (const StoredTensor& tensor : file.tensors()) {
    if (absl::StartsWith(tensor.name, kOptimizerPrefix)) continue;
    parameters.push_back(
        {.name = tensor.name, .shape = tensor.shape, .offset = offset});
    offset += tensor.num_values;
  }
  return parameters;
}

// Reads metadata field by field, and keeps the first wrong one.
class MetadataReader {
 public:
  explicit MetadataReader(const Metadata& metadata) : metadata_(metadata) {}

  std::string Text(const std::string& key) {
    const auto found = metadata_.find(key);
    if (found != metadata_.end()) return found->second;
    Fail(key, "is missing");
    return {};
  }

  template <typename Number>
  Number As(const std::string& key) {
    const std::string text = Text(key);
    Number number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      Fail(key, absl::StrCat("is '", text, "', no number in range"));
    }
    return number;
  }

  const absl::Status& status() const { return status_; }

 private:
  void Fail(const std::string& key, const std::string& reason) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat("its metadata '", key, "' ", reason)));
  }

  const Metadata& metadata_;
  absl::Status status_;
};

absl::StatusOr<CheckpointInfo> InfoOf(const Metadata& metadata) {
  MetadataReader reader(metadata);
  if (reader.Text("format") != kFormat) {
    return absl::InvalidArgumentError(
        "it is a safetensors file, but no checkpoint of this program");
  }
  const uint64_t format_version = reader.As<uint64_t>("format_version");
  if (format_version != kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its format version is ", format_version, ", this program reads ",
        kFormatVersion, "; use the release that wrote it"));
  }
  CheckpointInfo info;
  info.job_id = reader.Text("job_id");
  info.version = reader.As<uint64_t>("version");
  info.epoch = reader.As<uint32_t>("epoch");
  info.seed = reader.As<uint64_t>("seed");
  info.run_state = reader.Text("run_state");
  info.model.kind = reader.Text("model.kind");
  info.model.layers = reader.As<uint32_t>("model.layers");
  info.model.hidden = reader.As<uint32_t>("model.hidden");
  info.model.input_columns = reader.As<uint64_t>("model.input_columns");
  info.model.num_classes = reader.As<uint32_t>("model.num_classes");
  info.model.dropout = reader.As<double>("model.dropout");
  info.model.input_dropout = reader.As<double>("model.input_dropout");
  info.model.aggregator = reader.Text("model.aggregator");
  info.model.heads = reader.As<uint32_t>("model.heads");
  info.model.attention_dropout = reader.As<double>("model.attention_dropout");
  info.model.normalization = reader.Text("model.normalization");
  info.model.residual = reader.As<uint32_t>("model.residual") != 0;
  info.model.degree_norm = reader.Text("model.degree_norm");
  const std::string task = reader.Text("task");
  const std::optional<Objective> objective = ObjectiveOf(task);
  if (reader.status().ok() && !objective.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its task is '", task, "', which is not known"));
  }
  info.model.objective = objective.value_or(Objective::kClasses);
  if (info.model.is_users()) {
    info.model.plugin = reader.Text("model.plugin");
    info.model.file = reader.Text("model.file");
    info.code_crc32c = reader.As<uint32_t>("model.code_crc32c");
  }
  FGNN_RETURN_IF_ERROR(reader.status());
  FGNN_RETURN_IF_ERROR(ValidateOptions(info.model));
  const auto sync = metadata.find(kSync);
  if (sync != metadata.end()) info.sync = sync->second;
  const auto gpu = metadata.find(kGpu);
  if (gpu != metadata.end()) info.gpu = gpu->second;
  info.names = {NamesIn(metadata, kClassNames, info.model.num_classes),
                NamesIn(metadata, kFeatureNames, info.model.input_columns),
                NamesIn(metadata, kTargetNames, info.model.num_classes)};
  return info;
}

// Reads the tensors of one copy of the parameters to out [P].
absl::Status ReadTensors(const SafetensorsFile& file,
                         const std::vector<ParameterInfo>& parameters,
                         const std::string& prefix, float* out) {
  for (const ParameterInfo& parameter : parameters) {
    const StoredTensor* tensor = file.Find(prefix + parameter.name);
    if (tensor == nullptr || tensor->shape != parameter.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("its tensor '", prefix, parameter.name, "' is ",
                       tensor == nullptr ? "missing" : "of another shape",
                       " than its model's"));
    }
    FGNN_RETURN_IF_ERROR(file.Read(*tensor, out + parameter.offset));
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> Decode(const SafetensorsFile& file) {
  Checkpoint checkpoint;
  FGNN_ASSIGN_OR_RETURN(checkpoint.info, InfoOf(file.metadata()));
  if (checkpoint.info.model.is_users()) {
    checkpoint.info.parameters = ParametersIn(file);
  }
  const std::vector<ParameterInfo> parameters = ParametersOf(checkpoint.info);
  const uint64_t num_parameters = NumFloats(parameters);
  if (num_parameters == 0) {
    return absl::InvalidArgumentError("it holds no parameters");
  }
  // Checked before anything of that size is allocated.
  uint64_t num_floats = 0;
  for (const StoredTensor& tensor : file.tensors()) {
    num_floats += tensor.num_values;
  }
  const uint64_t copies = file.tensors().size() / parameters.size();
  const auto prefixes = copies > 0 ? StatePrefixes(copies - 1) : std::nullopt;
  if (!prefixes.has_value() || num_floats != num_parameters * copies ||
      file.tensors().size() != parameters.size() * copies) {
    return absl::InvalidArgumentError(
        absl::StrCat("it holds ", num_floats, " floats; its model has ",
                     num_parameters, " parameters"));
  }
  checkpoint.weights.resize(num_parameters);
  checkpoint.optimizer_state.resize(num_parameters * prefixes->size());
  FGNN_RETURN_IF_ERROR(
      ReadTensors(file, parameters, "", checkpoint.weights.data()));
  float* state = checkpoint.optimizer_state.data();
  for (const char* prefix : *prefixes) {
    FGNN_RETURN_IF_ERROR(ReadTensors(file, parameters, prefix, state));
    state += num_parameters;
  }
  return checkpoint;
}

}  // namespace

absl::StatusOr<uint64_t> WriteCheckpoint(const std::filesystem::path& path,
                                         const CheckpointInfo& info,
                                         const CheckpointTensors& tensors) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(info.model));
  if (info.run_state.size() > kMaxRunStateBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpoint ", path.string(), ": run_state has ", info.run_state.size(),
        " bytes, at most ", kMaxRunStateBytes));
  }
  const std::vector<ParameterInfo> parameters = ParametersOf(info);
  const uint64_t num_parameters = NumFloats(parameters);
  const auto prefixes =
      StatePrefixes(tensors.optimizer_state.size() / num_parameters);
  if (tensors.weights.size() != num_parameters || !prefixes.has_value() ||
      tensors.optimizer_state.size() != num_parameters * prefixes->size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpoint ", path.string(), ": got ", tensors.weights.size(),
        " weights and ", tensors.optimizer_state.size(),
        " floats of optimizer state; the model has ", num_parameters,
        " parameters"));
  }
  std::vector<Tensor> list;
  const auto add = [&](const std::string& prefix,
                       absl::Span<const float> floats) {
    for (const ParameterInfo& parameter : parameters) {
      list.push_back({prefix + parameter.name, parameter.shape,
                      floats.subspan(parameter.offset, parameter.size())});
    }
  };
  add("", tensors.weights);
  for (size_t i = 0; i < prefixes->size(); ++i) {
    add((*prefixes)[i],
        tensors.optimizer_state.subspan(i * num_parameters, num_parameters));
  }
  Metadata metadata = MetadataOf(info);
  AddUsersCode(info, &metadata);
  AddTraining(info, &metadata);
  AddNames(info.names, &metadata);
  return WriteSafetensors(path, metadata, list);
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(const SafetensorsFile file,
                        SafetensorsFile::Open(path));
  absl::StatusOr<Checkpoint> checkpoint = Decode(file);
  if (!checkpoint.ok()) {
    return Annotate(checkpoint.status(),
                    absl::StrCat("checkpoint ", path.string()));
  }
  return checkpoint;
}

absl::Status CheckParameters(const CheckpointInfo& info,
                             absl::Span<const ParameterInfo> parameters) {
  if (!info.model.is_users()) return absl::OkStatus();
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterInfo& wanted = parameters[p];
    if (p < info.parameters.size() && info.parameters[p].name == wanted.name &&
        info.parameters[p].shape == wanted.shape) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "it has no ", wanted.name, " [", absl::StrJoin(wanted.shape, ", "),
        "] where the model has it: the user's code is that of another model"));
  }
  if (info.parameters.size() == parameters.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it has ", info.parameters.size(),
                   " parameters, the user's model ", parameters.size()));
}

}  // namespace fgnn
