// Reads and completes protobuf messages by their fields' FieldDoc. The code
// names no field. Only shared/config uses this header.
#ifndef FGNN_SHARED_CONFIG_FIELD_READER_H_
#define FGNN_SHARED_CONFIG_FIELD_READER_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "absl/status/status.h"
#include "shared/config/field_doc.h"

namespace fgnn {

// Prefix of a message: "FILE:LINE: ", or "--set KEY=VALUE: ".
struct YamlOrigin {
  std::string name;
  bool has_lines = true;
};

// Reads the map `node` into `message`; fields that the map does not name keep
// their values. `prefix` is the message's path, empty for the root.
// InvalidArgument: unknown or repeated keys, wrong types, values out of range.
absl::Status ReadMessage(const YAML::Node& node, const YamlOrigin& origin,
                         const std::string& prefix,
                         google::protobuf::Message* message);

// Reads one field of `message`, and replaces its old value.
absl::Status ReadField(const YAML::Node& node, const YamlOrigin& origin,
                       const std::string& prefix,
                       const google::protobuf::FieldDescriptor& field,
                       google::protobuf::Message* message);

// Returns the error for a key that `message` does not have. The error names the
// nearest key, or where else the key belongs.
absl::Status UnknownKey(const std::string& key, const std::string& prefix,
                        const google::protobuf::Descriptor& message);

// Sets every field that is not set to its default, in all messages within.
// InvalidArgument: a required field is missing.
absl::Status FillDefaults(const std::string& prefix,
                          google::protobuf::Message* message);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_FIELD_READER_H_
