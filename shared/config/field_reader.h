// Reads, checks and completes protobuf messages by their fields' FieldDoc: no
// field is known here by name. For shared/config alone.
#ifndef FGNN_SHARED_CONFIG_FIELD_READER_H_
#define FGNN_SHARED_CONFIG_FIELD_READER_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "absl/status/status.h"
#include "fgnn/v1/options.pb.h"

namespace fgnn {

// What stands before a message: "FILE:LINE: ", or "--set KEY=VALUE: ".
struct YamlOrigin {
  std::string name;
  bool has_lines = true;
};

const v1::FieldDoc& DocOf(const google::protobuf::FieldDescriptor& field);

// Under which key YAML has the field: its name, or that of the list in whose
// place it may be written (FieldDoc.instead_of).
std::string KeyOf(const google::protobuf::FieldDescriptor& field);
// The field of a key; of a list and the block in its place, the list. nullptr:
// there is none.
const google::protobuf::FieldDescriptor* FieldOfKey(
    const google::protobuf::Descriptor& message, const std::string& key);
// The block that may be written in the place of a list; nullptr: none may.
const google::protobuf::FieldDescriptor* BlockInsteadOf(
    const google::protobuf::FieldDescriptor& list);

// `prefix` and the field's key: "sampling.fanouts".
std::string FieldPath(const std::string& prefix,
                      const google::protobuf::FieldDescriptor& field);

// Reads `node`, a map, into `message`, over what it holds. `prefix` is the
// message's path, empty for the root. InvalidArgument: unknown or repeated
// keys, wrong types, values out of range.
absl::Status ReadMessage(const YAML::Node& node, const YamlOrigin& origin,
                         const std::string& prefix,
                         google::protobuf::Message* message);

// Reads one field of `message`, replacing what it holds.
absl::Status ReadField(const YAML::Node& node, const YamlOrigin& origin,
                       const std::string& prefix,
                       const google::protobuf::FieldDescriptor& field,
                       google::protobuf::Message* message);

// The error of a key that `message` has not: names the nearest one, or where
// else it belongs.
absl::Status UnknownKey(const std::string& key, const std::string& prefix,
                        const google::protobuf::Descriptor& message);

// Sets every field that is not set to its default, in all messages within.
// InvalidArgument: a required field is missing.
absl::Status FillDefaults(const std::string& prefix,
                          google::protobuf::Message* message);

// Ranges and choices of every field that is set.
absl::Status CheckFields(const std::string& prefix,
                         const google::protobuf::Message& message);

// The shortest text that reads as the same number.
std::string FormatDouble(double value);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_FIELD_READER_H_
