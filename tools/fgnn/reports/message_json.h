// Control messages as JSON, for --json.
#ifndef FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_
#define FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_

#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

namespace fgnn {

// Every field under its name in the proto, in its order: numbers as numbers,
// enums as the last words of their names in lower case ("running"), messages
// and `optional` fields that are not set left out.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_MESSAGE_JSON_H_
