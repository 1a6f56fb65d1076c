#include "tools/fgnn/reports/message_json.h"

#include <cctype>
#include <string>

#include "absl/strings/ascii.h"
#include "google/protobuf/descriptor.h"

namespace fgnn {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// Returns "running" for JOB_STATE_RUNNING of JobState.
std::string ShortName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !prefix.empty()) prefix += '_';
    prefix += c;
  }
  prefix = absl::AsciiStrToLower(prefix) + "_";
  const std::string name = absl::AsciiStrToLower(value.name());
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

// Returns the value of a field; of a repeated field, its element `i`.
ordered_json ValueToJson(const Message& message, const FieldDescriptor& field,
                         int i) {
  const Reflection& r = *message.GetReflection();
  const FieldDescriptor* f = &field;
  const auto get = [&](auto value, auto element) {
    return field.is_repeated() ? (r.*element)(message, f, i)
                               : (r.*value)(message, f);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return ShortName(
          *get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum));
    case FieldDescriptor::CPPTYPE_STRING:
      return get(&Reflection::GetString, &Reflection::GetRepeatedString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(field.is_repeated() ? r.GetRepeatedMessage(message, f, i)
                                        : r.GetMessage(message, f));
  }
  return nullptr;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  ordered_json json = ordered_json::object();
  const auto& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) {
      ordered_json elements = ordered_json::array();
      const int size = reflection.FieldSize(message, &field);
      for (int e = 0; e < size; ++e) {
        elements.push_back(ValueToJson(message, field, e));
      }
      json[field.name()] = std::move(elements);
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      json[field.name()] = ValueToJson(message, field, 0);
    }
  }
  return json;
}

}  // namespace fgnn
