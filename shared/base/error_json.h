// Errors for programs: a code that later releases keep, and JSON.
#ifndef FGNN_SHARED_BASE_ERROR_JSON_H_
#define FGNN_SHARED_BASE_ERROR_JSON_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fgnn {

// Returns the code's name in lower case: "not_found", "resource_exhausted".
std::string CodeName(absl::StatusCode code);

// Returns one line of JSON about an error that ends a program:
//   {"type": "error", "code": "not_found", "exit_code": 2, "message": "…"}
// `exit_code` is the code with which the program ends.
std::string ErrorJson(const absl::Status& status, int exit_code);

// Returns the error that a line of ErrorJson() tells; nullopt for other text.
std::optional<absl::Status> ParseErrorJson(std::string_view line);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_ERROR_JSON_H_
