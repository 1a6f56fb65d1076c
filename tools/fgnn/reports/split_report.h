// The output of `fgnn bench split`, for people and for programs.
#ifndef FGNN_TOOLS_FGNN_REPORTS_SPLIT_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_SPLIT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/bench/split/split_bench.h"

namespace fgnn {

struct SplitReport {
  std::string dataset;
  // Columns of the features, which parts send as f32; 0: there are none.
  uint64_t feature_columns = 0;
  uint32_t hidden = 256;          // Columns of the hidden layers.
  std::string precision = "f32";  // f32 or bf16: numbers of hidden rows.
  SplitBenchOptions options;
  std::vector<SplitCase> cases;
};

nlohmann::ordered_json ToJson(const SplitReport& report);
std::string ToText(const SplitReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_SPLIT_REPORT_H_
