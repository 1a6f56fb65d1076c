#include "shared/config/field_doc.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace fgnn {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

const v1::FieldDoc& DocOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::doc);
}

std::string KeyOf(const FieldDescriptor& field) {
  const std::string& list = DocOf(field).instead_of();
  return list.empty() ? field.name() : list;
}

const FieldDescriptor* FieldOfKey(const Descriptor& message,
                                  const std::string& key) {
  const FieldDescriptor* const field = message.FindFieldByName(key);
  return field == nullptr || KeyOf(*field) == key ? field : nullptr;
}

bool MayBeEmpty(const FieldDescriptor& list) {
  return DocOf(list).default_value() == "[]";
}

const FieldDescriptor* BlockInsteadOf(const FieldDescriptor& list) {
  const Descriptor& message = *list.containing_type();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (DocOf(field).instead_of() == list.name()) return &field;
  }
  return nullptr;
}

std::string FieldPath(const std::string& prefix, const FieldDescriptor& field) {
  return prefix.empty() ? KeyOf(field)
                        : absl::StrCat(prefix, ".", KeyOf(field));
}

std::string FormatDouble(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  // Whole numbers read better without an exponent: 16777216, not 1.6777216e7.
  if (value == std::trunc(value) && std::abs(value) < 1e15) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  return std::string(text, end);
}

}  // namespace fgnn
