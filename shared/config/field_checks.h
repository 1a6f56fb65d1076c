// Checks values by their fields' FieldDoc: ranges and choices. Only
// shared/config and the calls of clients use this header.
#ifndef FGNN_SHARED_CONFIG_FIELD_CHECKS_H_
#define FGNN_SHARED_CONFIG_FIELD_CHECKS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"

namespace fgnn {

// Checks that the field may have this number. `path` and `shown` are the field
// and the number as the user wrote them. InvalidArgument: it is out of range.
absl::Status CheckNumber(const google::protobuf::FieldDescriptor& field,
                         const std::string& path, long double value,
                         const std::string& shown);

// Checks the length of a text: paths, and devices with their cores, have at
// most 4,096 bytes, all others 255. InvalidArgument: it is longer.
absl::Status CheckLength(const google::protobuf::FieldDescriptor& field,
                         const std::string& path, const std::string& word);

// Checks that the field may have this word. InvalidArgument: it is too long, or
// none of the field's choices.
absl::Status CheckWord(const google::protobuf::FieldDescriptor& field,
                       const std::string& path, const std::string& word);

// InvalidArgument: the text has characters that a terminal does not show.
absl::Status CheckPrintable(const std::string& path, const std::string& text);

// Checks a word that a client made up, such as a job's name. InvalidArgument:
// it has more than 128 bytes, or is not printable.
absl::Status CheckName(const std::string& path, const std::string& name);

// Checks ranges and choices of every field that is set.
absl::Status CheckFields(const std::string& prefix,
                         const google::protobuf::Message& message);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_FIELD_CHECKS_H_
