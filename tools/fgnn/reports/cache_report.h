// The output of `fgnn bench cache`, for people, for programs and as a picture.
#ifndef FGNN_TOOLS_FGNN_REPORTS_CACHE_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_CACHE_REPORT_H_

#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"
#include "tools/bench/cache_bench.h"

namespace fgnn {

struct CacheReport {
  std::string dataset;
  uint64_t num_nodes = 0;
  uint64_t row_bytes = 0;  // Bytes of a vertex's features.
  CacheBenchOptions options;
  CacheBenchResult result;
};

nlohmann::ordered_json ToJson(const CacheReport& report);
std::string ToText(const CacheReport& report);
std::string ToSvg(const CacheReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_CACHE_REPORT_H_
