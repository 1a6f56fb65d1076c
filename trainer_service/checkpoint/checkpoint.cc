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

// Calls field(key, value) for the metadata of every checkpoint, except format
// and task. Info: CheckpointInfo, const to write it.
template <typename Info, typename Field>
void ForEachField(Info& info, const Field& field) {
  field("job_id", info.job_id);
  field("version", info.version);
  field("epoch", info.epoch);
  field("seed", info.seed);
  field("run_state", info.run_state);
  auto& model = info.model;
  field("model.kind", model.kind);
  field("model.layers", model.layers);
  field("model.hidden", model.hidden);
  field("model.input_columns", model.input_columns);
  field("model.num_classes", model.num_classes);
  field("model.dropout", model.dropout);
  field("model.input_dropout", model.input_dropout);
  field("model.aggregator", model.aggregator);
  field("model.heads", model.heads);
  field("model.attention_dropout", model.attention_dropout);
  field("model.normalization", model.normalization);
  field("model.residual", model.residual);
  field("model.degree_norm", model.degree_norm);
  if (!model.is_users()) return;
  field("model.plugin", model.plugin);
  field("model.file", model.file);
  field("model.code_crc32c", info.code_crc32c);
  if (model.kind != "python") return;
  field("model.class_name", model.class_name);
  field("model.python", model.python);
}

// Does the same for texts that may be missing, and are if they are empty.
template <typename Info, typename Field>
void ForEachOptionalField(Info& info, const Field& field) {
  field("sync", info.sync);
  field("gpu", info.gpu);
}

// Does the same for lists of names, with the most names that there may be. A
// name holds no line end.
template <typename Info, typename Field>
void ForEachNames(Info& info, const Field& field) {
  field("class_names", info.names.classes, info.model.num_classes);
  field("feature_names", info.names.features, info.model.input_columns);
  field("target_names", info.names.targets, info.model.num_classes);
}

// Returns the shortest text that reads back as the same number.
template <typename Number>
std::string TextOf(Number value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}
std::string TextOf(bool value) { return value ? "1" : "0"; }
const std::string& TextOf(const std::string& value) { return value; }

Metadata MetadataOf(const CheckpointInfo& info) {
  Metadata metadata = {{"format", kFormat},
                       {"format_version", absl::StrCat(kFormatVersion)},
                       {"task", std::string(TaskOf(info.model.objective))}};
  ForEachField(info, [&](const char* key, const auto& value) {
    metadata[key] = TextOf(value);
  });
  ForEachOptionalField(info, [&](const char* key, const std::string& text) {
    if (!text.empty()) metadata[key] = text;
  });
  ForEachNames(info, [&](const char* key, const auto& names, uint64_t) {
    if (!names.empty()) metadata[key] = absl::StrJoin(names, "\n");
  });
  return metadata;
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

  void Read(const char* key, std::string& to) { to = Text(key); }
  void Read(const char* key, bool& to) { to = As<uint32_t>(key) != 0; }
  template <typename Number>
  void Read(const char* key, Number& to) {
    to = As<Number>(key);
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
  ForEachField(info,
               [&](const char* key, auto& value) { reader.Read(key, value); });
  const std::string task = reader.Text("task");
  const std::optional<Objective> objective = ObjectiveOf(task);
  if (reader.status().ok() && !objective.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its task is '", task, "', which is not known"));
  }
  info.model.objective = objective.value_or(Objective::kClasses);
  FGNN_RETURN_IF_ERROR(reader.status());
  FGNN_RETURN_IF_ERROR(ValidateOptions(info.model));
  ForEachOptionalField(info, [&](const char* key, std::string& text) {
    const auto found = metadata.find(key);
    if (found != metadata.end()) text = found->second;
  });
  ForEachNames(info, [&](const char* key, auto& names, uint64_t most) {
    const auto found = metadata.find(key);
    if (found == metadata.end() || found->second.empty()) return;
    names = absl::StrSplit(found->second, '\n');
    names.resize(std::min<uint64_t>(names.size(), most));
  });
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

absl::Status WriteCheckpoint(const std::filesystem::path& path,
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
  return WriteSafetensors(path, MetadataOf(info), list);
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
