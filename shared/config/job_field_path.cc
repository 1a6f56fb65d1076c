#include "shared/config/job_field_path.h"

#include <algorithm>

#include "fgnn/v1/job.pb.h"
#include "shared/config/field_doc.h"

namespace fgnn {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

bool IsOtherNameOf(const FieldDescriptor& field, const std::string& name) {
  const auto& names = DocOf(field).other_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the path of the first field of `message` or its sections for which
// `is_meant` is true. Returns an empty string if there is none.
template <typename IsMeant>
std::string FindPath(const Descriptor& message, const std::string& prefix,
                     const IsMeant& is_meant) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (is_meant(field)) return FieldPath(prefix, field);
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    std::string path =
        FindPath(*field.message_type(), FieldPath(prefix, field), is_meant);
    if (!path.empty()) return path;
  }
  return "";
}

}  // namespace

std::string JobFieldPath(const std::string& name) {
  const Descriptor& root = *v1::JobSpec::descriptor();
  std::string path = FindPath(root, "", [&name](const FieldDescriptor& field) {
    return field.name() == name;
  });
  if (!path.empty()) return path;
  return FindPath(root, "", [&name](const FieldDescriptor& field) {
    return IsOtherNameOf(field, name);
  });
}

}  // namespace fgnn
