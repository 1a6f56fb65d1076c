#include "shared/config/job_spec_proto.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/utf8.h"
#include "shared/config/field_checks.h"
#include "shared/config/field_reader.h"
#include "shared/config/presets.h"
#include "shared/config/rules/device_rules.h"
#include "shared/config/rules/host_rules.h"
#include "shared/config/rules/job_rules.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxJobFileBytes = 1 << 20;

// Reads the one document of a text. What stands behind its end would be ignored
// otherwise, so it is an error. The only place where yaml-cpp may throw.
absl::StatusOr<YAML::Node> LoadYaml(std::string_view text,
                                    const YamlOrigin& origin) {
  try {
    YAML::Node found;
    for (const YAML::Node& document : YAML::LoadAll(std::string(text))) {
      if (document.IsNull()) continue;
      if (!found.IsNull()) {
        return absl::InvalidArgumentError(absl::StrCat(
            origin.name,
            origin.has_lines ? absl::StrCat(":", document.Mark().line + 1) : "",
            ": a second document begins here; put all keys into one, or write "
            "each job into a file of its own"));
      }
      found.reset(document);
    }
    return found;
  } catch (const YAML::Exception& error) {
    const std::string line = origin.has_lines && !error.mark.is_null()
                                 ? absl::StrCat(":", error.mark.line + 1)
                                 : "";
    return absl::InvalidArgumentError(
        absl::StrCat(origin.name, line, ": not YAML: ", error.msg));
  }
}

// The field of a dotted key, and the message that holds the field.
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
    if (place.field != nullptr) {  // More words follow: go down into the field.
      const FieldDescriptor* const block = BlockInsteadOf(*place.field);
      if (block != nullptr) {
        place.message->GetReflection()->ClearField(place.message, place.field);
        place.field = block;
      }
      if (place.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        return absl::InvalidArgumentError(absl::StrCat(
            FieldPath(place.prefix, *place.field), " has no keys within"));
      }
      place.prefix = FieldPath(place.prefix, *place.field);
      place.message = place.message->GetReflection()->MutableMessage(
          place.message, place.field);
    }
    const Descriptor& descriptor = *place.message->GetDescriptor();
    place.field = FieldOfKey(descriptor, name);
    if (place.field == nullptr) {
      return UnknownKey(name, place.prefix, descriptor);
    }
    begin = dot + 1;
  }
  return place;
}

// Makes the paths of the dataset, of the model's file and of its interpreter
// absolute. Relative ones are relative to `folder`.
absl::Status MakePathsAbsolute(const fs::path& folder, v1::JobSpec* spec) {
  std::error_code error;
  const fs::path base = fs::absolute(folder / ".", error);
  if (error) {
    return ErrnoToStatus(error.value(),
                         absl::StrCat("find folder ", folder.string()));
  }
  if (!spec->dataset().empty()) {
    spec->set_dataset((base / spec->dataset()).lexically_normal().string());
  }
  if (!spec->model().file().empty()) {
    spec->mutable_model()->set_file(
        (base / spec->model().file()).lexically_normal().string());
  }
  if (!spec->model().python().empty()) {
    spec->mutable_model()->set_python(
        (base / spec->model().python()).lexically_normal().string());
  }
  return absl::OkStatus();
}

// A comment would cut off the end of a path with " #" in it.
absl::Status CheckNoComment(const YAML::Node& value, const std::string& yaml) {
  const std::string begin = " #";
  if (yaml.find(begin) == std::string::npos || !value.IsScalar() ||
      value.Scalar().find(begin) != std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("YAML takes what stands behind ' #' for a comment; put the "
                   "value into quotes: '\"",
                   yaml, "\"'"));
}

absl::Status ApplyOverride(const std::string& text, v1::JobSpec* spec) {
  const YamlOrigin origin = {absl::StrCat("--set ", text), false};
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin.name, ": write KEY=VALUE, e.g. training.epochs=3"));
  }
  const std::string yaml = text.substr(equals + 1);
  FGNN_ASSIGN_OR_RETURN(const YAML::Node value, LoadYaml(yaml, origin));
  FGNN_RETURN_IF_ERROR(Annotate(CheckNoComment(value, yaml), origin.name));
  const absl::StatusOr<Place> place = FindPlace(text.substr(0, equals), spec);
  if (!place.ok()) return Annotate(place.status(), origin.name);
  return ReadField(value, origin, place->prefix, *place->field, place->message);
}

absl::Status Complete(const std::vector<std::string>& default_devices,
                      v1::JobSpec* spec) {
  if (spec->devices().empty() && !spec->has_device_request()) {
    spec->mutable_devices()->Add(default_devices.begin(),
                                 default_devices.end());
  }
  FGNN_RETURN_IF_ERROR(FillPreset(spec));
  FGNN_RETURN_IF_ERROR(FillDefaults("", spec));
  FGNN_RETURN_IF_ERROR(CheckFields("", *spec));
  FGNN_RETURN_IF_ERROR(CheckRules(spec));
  if (!fs::path(spec->dataset()).is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset: '", spec->dataset(), "' is not an absolute path"));
  }
  if (spec->training().batches_per_step() == 0) {
    // A batch of several parts takes as many devices.
    spec->mutable_training()->set_batches_per_step(
        std::max(DevicesThatTrain(*spec) / spec->training().parts(), 1U));
  }
  return CheckHosts(FromProto(*spec));
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJobYaml(std::string_view yaml,
                                         std::string_view origin) {
  FGNN_RETURN_IF_ERROR(InOneLine(CheckUtf8File(origin, yaml)));
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
  FGNN_RETURN_IF_ERROR(MakePathsAbsolute(path.parent_path(), &spec));
  FGNN_RETURN_IF_ERROR(ApplyOverrides(overrides, &spec));
  FGNN_RETURN_IF_ERROR(MakePathsAbsolute(".", &spec));
  return spec;
}

absl::Status ApplyOverrides(const std::vector<std::string>& overrides,
                            v1::JobSpec* spec) {
  for (const std::string& text_of_override : overrides) {
    FGNN_RETURN_IF_ERROR(InOneLine(ApplyOverride(text_of_override, spec)));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::JobSpec> ReadRunsJobFile(const fs::path& run_dir) {
  const fs::path path = run_dir / "job.yaml";
  FGNN_ASSIGN_OR_RETURN(
      const std::string text,
      ReadSmallFile(path, kMaxJobFileBytes, O_RDONLY | O_NOFOLLOW));
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec spec, ParseJobYaml(text, path.string()));
  FGNN_RETURN_IF_ERROR(MakePathsAbsolute(run_dir, &spec));
  return spec;
}

absl::StatusOr<v1::JobSpec> MakeEffective(
    v1::JobSpec spec, const std::vector<std::string>& default_devices) {
  FGNN_RETURN_IF_ERROR(InOneLine(Complete(default_devices, &spec)));
  return spec;
}

absl::StatusOr<JobSpec> ReadSpec(const v1::JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective, MakeEffective(spec, {}));
  return FromProto(effective);
}

}  // namespace fgnn
