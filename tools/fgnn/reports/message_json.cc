#include "tools/fgnn/reports/message_json.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "google/protobuf/descriptor.h"

namespace fgnn {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

// Returns "running" for JOB_STATE_RUNNING of JobState.
std::string ShortName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !prefix.empty()) prefix += '_';
    prefix += c;
  }
  prefix = Lower(prefix) + "_";
  const std::string name = Lower(value.name());
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

ordered_json ElementToJson(const Message& message, const FieldDescriptor& field,
                           int i) {
  const Reflection& r = *message.GetReflection();
  const FieldDescriptor* f = &field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.GetRepeatedInt32(message, f, i);
    case FieldDescriptor::CPPTYPE_INT64:
      return r.GetRepeatedInt64(message, f, i);
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.GetRepeatedUInt32(message, f, i);
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.GetRepeatedUInt64(message, f, i);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.GetRepeatedDouble(message, f, i);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.GetRepeatedFloat(message, f, i);
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.GetRepeatedBool(message, f, i);
    case FieldDescriptor::CPPTYPE_ENUM:
      return ShortName(*r.GetRepeatedEnum(message, f, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return r.GetRepeatedString(message, f, i);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(r.GetRepeatedMessage(message, f, i));
  }
  return nullptr;
}

ordered_json FieldToJson(const Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  const FieldDescriptor* f = &field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.GetInt32(message, f);
    case FieldDescriptor::CPPTYPE_INT64:
      return r.GetInt64(message, f);
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.GetUInt32(message, f);
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.GetUInt64(message, f);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.GetDouble(message, f);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.GetFloat(message, f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.GetBool(message, f);
    case FieldDescriptor::CPPTYPE_ENUM:
      return ShortName(*r.GetEnum(message, f));
    case FieldDescriptor::CPPTYPE_STRING:
      return r.GetString(message, f);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(r.GetMessage(message, f));
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
        elements.push_back(ElementToJson(message, field, e));
      }
      json[field.name()] = std::move(elements);
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      json[field.name()] = FieldToJson(message, field);
    }
  }
  return json;
}

}  // namespace fgnn
