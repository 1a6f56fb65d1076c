#include "shared/base/error_json.h"

#include "absl/strings/ascii.h"
#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr char kType[] = "error";

}  // namespace

std::string CodeName(absl::StatusCode code) {
  return absl::AsciiStrToLower(absl::StatusCodeToString(code));
}

std::string ErrorJson(const absl::Status& status, int exit_code) {
  return JsonText(
      nlohmann::ordered_json({{"type", kType},
                              {"code", CodeName(status.code())},
                              {"exit_code", exit_code},
                              {"message", MessageOf(InOneLine(status))}}));
}

std::optional<absl::Status> ParseErrorJson(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto text = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
  };
  if (text("type") != kType) return std::nullopt;
  for (int number = 1; number <= 16; ++number) {  // All codes but OK.
    const auto code = static_cast<absl::StatusCode>(number);
    if (text("code") == CodeName(code)) {
      return absl::Status(code, text("message"));
    }
  }
  return std::nullopt;
}

}  // namespace fgnn
