// Control messages as JSON, for --json.
#ifndef FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_
#define FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_

#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

namespace fgnn {

// Returns every field under its name in the proto, in its order. Numbers are
// numbers; enums are the last words of their names in lower case ("running").
// Messages and `optional` fields that are not set are left out.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_
