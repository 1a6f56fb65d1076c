#include "shared/config/field_reader.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "shared/base/nearest.h"
#include "shared/base/status.h"
#include "shared/config/field_checks.h"
#include "shared/config/job_field_path.h"

namespace fgnn {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status ErrorAt(const YAML::Node& node, const YamlOrigin& origin,
                     const absl::Status& error) {
  if (!origin.has_lines || node.Mark().is_null()) {
    return Annotate(error, origin.name);
  }
  return Annotate(error, absl::StrCat(origin.name, ":", node.Mark().line + 1));
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

// Parses a whole number, written as such or like 1e3.
template <typename Integer>
absl::StatusOr<Integer> ParseInteger(const FieldDescriptor& field,
                                     const std::string& path,
                                     const std::string& text) {
  Integer exact{};
  double value = 0;
  if (absl::SimpleAtoi(text, &exact)) {
    FGNN_RETURN_IF_ERROR(
        CheckNumber(field, path, static_cast<long double>(exact), text));
    return exact;
  }
  if (!absl::SimpleAtod(text, &value) || std::isnan(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": '", text, "' is not a whole number"));
  }
  if (value != std::trunc(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", text, " is not a whole number"));
  }
  FGNN_RETURN_IF_ERROR(CheckNumber(field, path, value, text));
  // Beyond 2^53 a double does not name one whole number.
  if (std::abs(value) > 0x1.0p53) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", text, " may be rounded; write all its digits"));
  }
  return static_cast<Integer>(value);
}

absl::StatusOr<double> ParseDouble(const FieldDescriptor& field,
                                   const std::string& path,
                                   const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": '", text, "' is not a number"));
  }
  FGNN_RETURN_IF_ERROR(CheckNumber(field, path, value, text));
  return value;
}

// Parses `text` as the field's type, checks it, and sets or adds it.
absl::Status StoreScalar(const FieldDescriptor& field, const std::string& path,
                         std::string text, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const bool add = field.is_repeated();
  if (!add && !text.empty() && text == DocOf(field).zero_word()) text = "0";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      FGNN_ASSIGN_OR_RETURN(const int32_t value,
                            ParseInteger<int32_t>(field, path, text));
      add ? reflection.AddInt32(message, &field, value)
          : reflection.SetInt32(message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      FGNN_ASSIGN_OR_RETURN(const uint32_t value,
                            ParseInteger<uint32_t>(field, path, text));
      add ? reflection.AddUInt32(message, &field, value)
          : reflection.SetUInt32(message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      FGNN_ASSIGN_OR_RETURN(const uint64_t value,
                            ParseInteger<uint64_t>(field, path, text));
      add ? reflection.AddUInt64(message, &field, value)
          : reflection.SetUInt64(message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      FGNN_ASSIGN_OR_RETURN(const double value, ParseDouble(field, path, text));
      add ? reflection.AddDouble(message, &field, value)
          : reflection.SetDouble(message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (text != "true" && text != "false") {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": '", text, "' is neither true nor false"));
      }
      reflection.SetBool(message, &field, text == "true");
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      FGNN_RETURN_IF_ERROR(CheckWord(field, path, text));
      add ? reflection.AddString(message, &field, text)
          : reflection.SetString(message, &field, text);
      return absl::OkStatus();
    default:
      return absl::InternalError(absl::StrCat(
          path,
          " has a type that job files cannot hold: ", field.cpp_type_name()));
  }
}

// A text default needs no parser. The parser would take longer than all other
// work on a submitted job.
YAML::Node DefaultOf(const v1::FieldDoc& doc) {
  const std::string& text = doc.default_value();
  if (text == R"("")") return YAML::Node(std::string());
  return text.find_first_of("\"[{") == std::string::npos ? YAML::Node(text)
                                                         : YAML::Load(text);
}

absl::Status ReadScalar(const YAML::Node& node, const YamlOrigin& origin,
                        const std::string& path, const FieldDescriptor& field,
                        Message* message) {
  if (node.IsScalar()) {
    const absl::Status stored =
        StoreScalar(field, path, node.Scalar(), message);
    return stored.ok() ? stored : ErrorAt(node, origin, stored);
  }
  const std::string wanted = IsNumber(field) ? "a number"
                             : field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL
                                 ? "true or false"
                                 : "a word";
  return ErrorAt(
      node, origin,
      absl::InvalidArgumentError(
          node.IsNull()
              ? absl::StrCat(path, " has no value; give ", wanted,
                             " or leave the line out")
              : absl::StrCat(path, " takes ", wanted, ", not a ",
                             node.IsMap() ? "block of keys" : "list")));
}

// Reads a block that stands in the place of a list, or the number that is the
// block's first field.
absl::Status ReadBlockInstead(const YAML::Node& node, const YamlOrigin& origin,
                              const std::string& path,
                              const FieldDescriptor& block, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  reflection.ClearField(message, &block);
  Message* const inner = reflection.MutableMessage(message, &block);
  return node.IsMap() ? ReadMessage(node, origin, path, inner)
                      : ReadField(node, origin, path,
                                  *block.message_type()->field(0), inner);
}

absl::Status ReadList(const YAML::Node& node, const YamlOrigin& origin,
                      const std::string& path, const FieldDescriptor& field,
                      Message* message) {
  const FieldDescriptor* const block = BlockInsteadOf(field);
  double number = 0;
  const bool is_number =
      node.IsScalar() && absl::SimpleAtod(node.Scalar(), &number);
  if (block != nullptr && (node.IsMap() || is_number)) {
    message->GetReflection()->ClearField(message, &field);
    return ReadBlockInstead(node, origin, path, *block, message);
  }
  const std::string& zero_word = DocOf(field).zero_word();
  if (!zero_word.empty() && node.IsScalar() && node.Scalar() == zero_word) {
    message->GetReflection()->ClearField(message, &field);
    return StoreScalar(field, path, "0", message);
  }
  if (!node.IsSequence()) {
    return ErrorAt(
        node, origin,
        absl::InvalidArgumentError(absl::StrCat(
            path, " takes a list; write [",
            node.IsScalar() ? node.Scalar() : "…", "]",
            zero_word.empty() ? "" : absl::StrCat(" or ", zero_word))));
  }
  if (node.size() == 0 && IsNumber(field) && !MayBeEmpty(field)) {
    return ErrorAt(node, origin,
                   absl::InvalidArgumentError(absl::StrCat(
                       path,
                       " is an empty list; give at least one number or "
                       "leave the line out")));
  }
  message->GetReflection()->ClearField(message, &field);
  if (block != nullptr) message->GetReflection()->ClearField(message, block);
  for (const YAML::Node& element : node) {
    FGNN_RETURN_IF_ERROR(ReadScalar(element, origin, path, field, message));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status UnknownKey(const std::string& key, const std::string& prefix,
                        const Descriptor& message) {
  std::vector<std::string> known;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (KeyOf(field) == field.name()) known.push_back(field.name());
  }
  std::string meant = JobFieldPath(key);
  // Within a section, its own keys stand without its name.
  absl::string_view in_section = meant;
  if (!prefix.empty() &&
      absl::ConsumePrefix(&in_section, absl::StrCat(prefix, "."))) {
    meant = std::string(in_section);
  }
  if (meant.empty()) meant = NearestWord(key, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown key '", key, "'", prefix.empty() ? "" : " in ", prefix,
      meant.empty() ? absl::StrCat("; known keys: ", absl::StrJoin(known, ", "))
                    : absl::StrCat("; did you mean '", meant, "'?")));
}

absl::Status ReadField(const YAML::Node& node, const YamlOrigin& origin,
                       const std::string& prefix, const FieldDescriptor& field,
                       Message* message) {
  const std::string path = FieldPath(prefix, field);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return ReadMessage(
        node, origin, path,
        message->GetReflection()->MutableMessage(message, &field));
  }
  if (field.is_repeated()) return ReadList(node, origin, path, field, message);
  return ReadScalar(node, origin, path, field, message);
}

absl::Status ReadMessage(const YAML::Node& node, const YamlOrigin& origin,
                         const std::string& prefix, Message* message) {
  if (node.IsNull()) return absl::OkStatus();  // The key has nothing below it.
  const std::string what = prefix.empty() ? "a job file" : prefix;
  if (!node.IsMap()) {
    return ErrorAt(
        node, origin,
        absl::InvalidArgumentError(absl::StrCat(
            what, " takes a block of keys, KEY: VALUE on each line")));
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "…";
    const FieldDescriptor* field = FieldOfKey(*message->GetDescriptor(), key);
    if (field == nullptr) {
      return ErrorAt(entry.first, origin,
                     UnknownKey(key, prefix, *message->GetDescriptor()));
    }
    if (!seen.insert(key).second) {
      return ErrorAt(entry.first, origin,
                     absl::InvalidArgumentError(absl::StrCat(
                         FieldPath(prefix, *field), " is given twice")));
    }
    FGNN_RETURN_IF_ERROR(
        ReadField(entry.second, origin, prefix, *field, message));
  }
  return absl::OkStatus();
}

absl::Status FillDefaults(const std::string& prefix, Message* message) {
  const Descriptor& descriptor = *message->GetDescriptor();
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      // A block in the place of a list is set only if it was written.
      const bool is_instead = !DocOf(field).instead_of().empty();
      if (is_instead && !reflection.HasField(*message, &field)) continue;
      FGNN_RETURN_IF_ERROR(
          FillDefaults(FieldPath(prefix, field),
                       reflection.MutableMessage(message, &field)));
      continue;
    }
    const bool is_set = field.is_repeated()
                            ? reflection.FieldSize(*message, &field) > 0
                            : reflection.HasField(*message, &field);
    const v1::FieldDoc& doc = DocOf(field);
    if (is_set) continue;
    if (doc.required()) {
      return absl::InvalidArgumentError(absl::StrCat(
          FieldPath(prefix, field), " is missing (", doc.help(), ")"));
    }
    if (doc.default_value().empty()) continue;
    FGNN_RETURN_IF_ERROR(
        ReadField(DefaultOf(doc), {"default", false}, prefix, field, message));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
