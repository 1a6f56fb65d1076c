// The output of `fgnn bench`, for people and for programs.
#ifndef FGNN_TOOLS_FGNN_REPORTS_BENCH_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_BENCH_REPORT_H_

#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"
#include "shared/graph/dataset.h"
#include "tools/bench/aggregate_bench.h"
#include "tools/bench/extract_bench.h"
#include "tools/bench/idmap_bench.h"
#include "tools/bench/sample_bench.h"

namespace fgnn {

struct SampleReport {
  SampleBenchOptions options;
  SampleBenchResult result;
  double random_reads_per_second = 0;  // The memory's limit, with one thread.
};

nlohmann::ordered_json ToJson(const SampleReport& report);
std::string ToText(const SampleReport& report);

struct IdMapReport {
  SampleBenchOptions options;
  IdMapBenchResult result;
};

nlohmann::ordered_json ToJson(const IdMapReport& report);
std::string ToText(const IdMapReport& report);

struct ExtractReport {
  ExtractBenchOptions options;
  uint64_t num_rows = 0;  // Number of the store's rows.
  uint64_t num_columns = 0;
  FeatureType type = FeatureType::kFloat32;
  ExtractBenchResult result;
};

nlohmann::ordered_json ToJson(const ExtractReport& report);
std::string ToText(const ExtractReport& report);

struct AggregateReport {
  AggregateBenchOptions options;
  uint64_t num_rows = 0;  // Number of the store's rows.
  uint64_t num_columns = 0;
  FeatureType type = FeatureType::kFloat32;
  AggregateBenchResult result;
};

nlohmann::ordered_json ToJson(const AggregateReport& report);
std::string ToText(const AggregateReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_BENCH_REPORT_H_
