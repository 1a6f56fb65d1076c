// The output of `fgnn bench match`, for people and for programs.
#ifndef FGNN_TOOLS_FGNN_REPORTS_MATCH_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_MATCH_REPORT_H_

#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"
#include "tools/bench/match/match_bench.h"

namespace fgnn {

struct MatchReport {
  std::string dataset;
  // Bytes of a row of features as it is stored; 0: there are no features.
  uint64_t row_bytes = 0;
  MatchBenchOptions options;
  MatchBenchResult result;
};

nlohmann::ordered_json ToJson(const MatchReport& report);
std::string ToText(const MatchReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_MATCH_REPORT_H_
