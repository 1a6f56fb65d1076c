#include "shared/config/field_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/nearest.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/field_doc.h"

namespace fgnn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMaxNameBytes = 128;

// A long double has every number of 64 bits, which a double rounds.
std::string FormatBound(long double bound) {
  constexpr auto kMost = std::numeric_limits<uint64_t>::max();
  return bound == static_cast<long double>(kMost)
             ? absl::StrCat(kMost)
             : FormatDouble(static_cast<double>(bound));
}

std::string Range(long double min, long double max) {
  if (std::isinf(max)) return absl::StrCat("at least ", FormatBound(min));
  return absl::StrCat(FormatBound(min), " to ", FormatBound(max));
}

// Finds the bounds that the field's type and its documentation set together.
void Bounds(const FieldDescriptor& field, long double* min, long double* max) {
  *min = -std::numeric_limits<long double>::infinity();
  *max = std::numeric_limits<long double>::infinity();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      *min = std::numeric_limits<int32_t>::min();
      *max = std::numeric_limits<int32_t>::max();
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      *min = 0;
      *max = std::numeric_limits<uint32_t>::max();
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      *min = 0;
      *max = static_cast<long double>(std::numeric_limits<uint64_t>::max());
      break;
    default:
      break;
  }
  const v1::FieldDoc& doc = DocOf(field);
  if (doc.has_min()) *min = std::max<long double>(*min, doc.min());
  if (doc.has_max()) *max = std::min<long double>(*max, doc.max());
}

// Checks one element of a field: numbers as doubles, texts as they are.
absl::Status CheckElement(const FieldDescriptor& field, const std::string& path,
                          const Message& message, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t value =
          repeated ? reflection.GetRepeatedInt32(message, &field, index)
                   : reflection.GetInt32(message, &field);
      return CheckNumber(field, path, value, absl::StrCat(value));
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const uint32_t value =
          repeated ? reflection.GetRepeatedUInt32(message, &field, index)
                   : reflection.GetUInt32(message, &field);
      return CheckNumber(field, path, value, absl::StrCat(value));
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t value =
          repeated ? reflection.GetRepeatedUInt64(message, &field, index)
                   : reflection.GetUInt64(message, &field);
      return CheckNumber(field, path, static_cast<long double>(value),
                         absl::StrCat(value));
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value =
          repeated ? reflection.GetRepeatedDouble(message, &field, index)
                   : reflection.GetDouble(message, &field);
      return CheckNumber(field, path, value, FormatDouble(value));
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_STRING:
      return CheckWord(
          field, path,
          repeated ? reflection.GetRepeatedString(message, &field, index)
                   : reflection.GetString(message, &field));
    default:
      return absl::InternalError(absl::StrCat(path, " has an unknown type"));
  }
}

}  // namespace

absl::Status CheckNumber(const FieldDescriptor& field, const std::string& path,
                         long double value, const std::string& shown) {
  long double min = 0;
  long double max = 0;
  Bounds(field, &min, &max);
  if (value >= min && value <= max) return absl::OkStatus();
  const std::string& zero_word = DocOf(field).zero_word();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": ", shown, " is out of range; give ", Range(min, max),
      zero_word.empty() ? "" : absl::StrCat(", or ", zero_word)));
}

absl::Status CheckLength(const FieldDescriptor& field, const std::string& path,
                         const std::string& word) {
  constexpr size_t kMostOfName = 255;
  constexpr size_t kMostOfPath = 4'096;
  // A device may name each of many cores, and a search may be for a path.
  constexpr std::array kLong = {"dataset", "run_dir", "file",
                                "devices", "device",  "search"};
  const bool is_long =
      std::find(kLong.begin(), kLong.end(), field.name()) != kLong.end();
  const size_t most = is_long ? kMostOfPath : kMostOfName;
  if (word.size() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " has ", word.size(),
                                                 " bytes, at most ", most,
                                                 " are allowed; shorten it"));
}

absl::Status CheckWord(const FieldDescriptor& field, const std::string& path,
                       const std::string& word) {
  FGNN_RETURN_IF_ERROR(CheckLength(field, path, word));
  const v1::FieldDoc& doc = DocOf(field);
  if (doc.choices().empty()) return absl::OkStatus();
  return CheckChoice(
      path, word,
      std::vector<std::string>(doc.choices().begin(), doc.choices().end()));
}

absl::Status CheckPrintable(const std::string& path, const std::string& text) {
  const std::string printable = PrintableText(text);
  if (printable == text) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has control characters, or some that are not seen, in it: '",
      printable, "'; choose one without them"));
}

absl::Status CheckName(const std::string& path, const std::string& name) {
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", name.size(), " bytes, at most ",
                     kMaxNameBytes, " are allowed"));
  }
  return CheckPrintable(path, name);
}

absl::Status CheckFields(const std::string& prefix, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = FieldPath(prefix, *field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FGNN_RETURN_IF_ERROR(
          CheckFields(path, reflection.GetMessage(message, field)));
      continue;
    }
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      FGNN_RETURN_IF_ERROR(CheckElement(*field, path, message, i));
    }
  }
  return absl::OkStatus();
}

}  // namespace fgnn
