// Values as JSON, and JSON as text that is safe to show on a terminal.
#ifndef FGNN_SHARED_BASE_JSON_TEXT_H_
#define FGNN_SHARED_BASE_JSON_TEXT_H_

#include <optional>
#include <string>

#include "nlohmann/json.hpp"

namespace fgnn {

// Returns JSON on one line, or on lines with `indent` spaces for each level.
// All text is ASCII, so that no name or message from outside moves a terminal's
// cursor. Bytes that are not UTF-8 become U+FFFD.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   nlohmann::json::error_handler_t::replace);
}

// Returns the value, or null for nullopt.
template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  if (!value.has_value()) return nullptr;
  return *value;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_JSON_TEXT_H_
