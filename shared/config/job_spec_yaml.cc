#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/config/field_reader.h"
#include "shared/config/field_text.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// "  # Width of the hidden layers [columns]; 1 to 65536; default 256"
std::string HelpOf(const FieldDescriptor& field) {
  const v1::FieldDoc& doc = DocOf(field);
  std::string help = absl::StrCat("  # ", doc.help());
  if (!doc.unit().empty()) absl::StrAppend(&help, " [", doc.unit(), "]");
  if (!doc.choices().empty()) {
    absl::StrAppend(&help, "; one of ", absl::StrJoin(doc.choices(), ", "));
  }
  if (doc.has_min() && doc.has_max()) {
    absl::StrAppend(&help, "; ", FormatDouble(doc.min()), " to ",
                    FormatDouble(doc.max()));
  } else if (doc.has_min()) {
    absl::StrAppend(&help, "; at least ", FormatDouble(doc.min()));
  }
  if (doc.required()) absl::StrAppend(&help, "; required");
  if (!doc.default_value().empty()) {
    absl::StrAppend(&help, "; default ", doc.default_value());
  }
  return help;
}

void AppendMessage(const Message& message, const std::string& indent,
                   bool with_help, std::string* yaml) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool is_set =
        field.is_repeated()
            ? reflection.FieldSize(message, &field) > 0 || MayBeEmpty(field)
            : reflection.HasField(message, &field);
    if (!is_set) continue;
    absl::StrAppend(yaml, indent, KeyOf(field), ":");
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      absl::StrAppend(yaml, "\n");
      AppendMessage(reflection.GetMessage(message, &field), indent + "  ",
                    with_help, yaml);
      continue;
    }
    absl::StrAppend(yaml, " ", TextOf(field, message),
                    with_help ? HelpOf(field) : "", "\n");
  }
}

}  // namespace

std::string ToYaml(const v1::JobSpec& spec, bool with_help) {
  std::string yaml;
  AppendMessage(spec, "", with_help, &yaml);
  return yaml;
}

std::string ToYaml(const JobSpec& spec) {
  return ToYaml(ToProto(spec), /*with_help=*/false);
}

}  // namespace fgnn
