// The FieldDoc of protobuf fields, and the keys by which job files name them.
// Only shared/config uses this header.
#ifndef FGNN_SHARED_CONFIG_FIELD_DOC_H_
#define FGNN_SHARED_CONFIG_FIELD_DOC_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "fgnn/v1/options.pb.h"

namespace fgnn {

const v1::FieldDoc& DocOf(const google::protobuf::FieldDescriptor& field);

// Returns the key that YAML has for the field. It is the field's name, or the
// name of the list in whose place the field may be written
// (FieldDoc.instead_of).
std::string KeyOf(const google::protobuf::FieldDescriptor& field);
// Returns the field of a key. For a key of a list and of the block in its
// place, returns the list. nullptr: there is no such field.
const google::protobuf::FieldDescriptor* FieldOfKey(
    const google::protobuf::Descriptor& message, const std::string& key);
// Returns the block that may be written in the place of a list. nullptr: none
// may.
const google::protobuf::FieldDescriptor* BlockInsteadOf(
    const google::protobuf::FieldDescriptor& list);

// Returns `prefix` and the field's key: "sampling.fanouts".
std::string FieldPath(const std::string& prefix,
                      const google::protobuf::FieldDescriptor& field);

// Returns whether a list may have no elements in an effective spec.
bool MayBeEmpty(const google::protobuf::FieldDescriptor& list);

// Returns the shortest text that reads as the same number.
std::string FormatDouble(double value);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_FIELD_DOC_H_
