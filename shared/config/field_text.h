// Writes the values of protobuf fields as YAML has them. The code names no
// field. Only shared/config uses this header.
#ifndef FGNN_SHARED_CONFIG_FIELD_TEXT_H_
#define FGNN_SHARED_CONFIG_FIELD_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

namespace fgnn {

// Returns the field's value, or its list, as YAML has it: "0.5", "auto",
// "[10, 10]". The field is no message.
std::string TextOf(const google::protobuf::FieldDescriptor& field,
                   const google::protobuf::Message& message);

// Returns true if the field of this name, which is no message, has the value
// that FieldDoc.default_value states. The message must have the field.
bool HasDefault(const google::protobuf::Message& message,
                const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_FIELD_TEXT_H_
