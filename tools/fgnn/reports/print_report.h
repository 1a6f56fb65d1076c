// Prints the results of commands.
#ifndef FGNN_TOOLS_FGNN_REPORTS_PRINT_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_PRINT_REPORT_H_

#include <iostream>
#include <string>

#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

// Prints the document with --json, else the text.
inline void PrintAnswer(const nlohmann::ordered_json& document,
                        const std::string& text,
                        const CommandContext& context) {
  std::cout << (context.json ? JsonText(document, 2) + "\n" : text);
}

// Prints the report's ToJson() with --json, else its ToText().
template <typename Report>
void PrintReport(const Report& report, const CommandContext& context) {
  if (context.json) {
    std::cout << JsonText(ToJson(report), 2) << "\n";
  } else {
    std::cout << ToText(report);
  }
}

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_PRINT_REPORT_H_
