#include "shared/config/field_text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/config/field_doc.h"

namespace fgnn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Returns true if every reader of YAML takes the text, unquoted, for a string.
bool IsPlain(const std::string& text) {
  static constexpr absl::string_view kReserved[] = {
      "true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || text.back() == ':') return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 &&
      text.front() != '/') {
    return false;
  }
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(c));
  return std::find(std::begin(kReserved), std::end(kReserved), lower) ==
             std::end(kReserved) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || std::strchr("_-./:+", c) != nullptr;
         });
}

std::string Quoted(const std::string& text) {
  if (IsPlain(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += absl::StrFormat("\\x%02x", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string ValueOf(const FieldDescriptor& field, const Message& message,
                    int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(
          repeated ? reflection.GetRepeatedInt32(message, &field, index)
                   : reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32: {
      const uint32_t value =
          repeated ? reflection.GetRepeatedUInt32(message, &field, index)
                   : reflection.GetUInt32(message, &field);
      const std::string& zero_word = DocOf(field).zero_word();
      if (value == 0 && !repeated && !zero_word.empty()) return zero_word;
      return absl::StrCat(value);
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(
          repeated ? reflection.GetRepeatedUInt64(message, &field, index)
                   : reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FormatDouble(
          repeated ? reflection.GetRepeatedDouble(message, &field, index)
                   : reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    default:
      return Quoted(repeated
                        ? reflection.GetRepeatedString(message, &field, index)
                        : reflection.GetString(message, &field));
  }
}

}  // namespace

std::string TextOf(const FieldDescriptor& field, const Message& message) {
  if (!field.is_repeated()) return ValueOf(field, message, 0);
  std::vector<std::string> values;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field);
       ++i) {
    values.push_back(ValueOf(field, message, i));
  }
  const std::string& zero_word = DocOf(field).zero_word();
  if (!zero_word.empty() && values == std::vector<std::string>({"0"})) {
    return zero_word;
  }
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

bool HasDefault(const Message& message, const std::string& name) {
  const FieldDescriptor& field =
      *message.GetDescriptor()->FindFieldByName(name);
  return TextOf(field, message) == DocOf(field).default_value();
}

}  // namespace fgnn
