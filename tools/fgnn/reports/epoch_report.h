// What `fgnn bench epoch` and `fgnn bench train` say, for people and for
// programs.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_

#include <string>
#include <vector>

#include "fgnn/v1/job.pb.h"
#include "nlohmann/json.hpp"
#include "tools/fgnn/reports/epoch_metrics.h"

namespace fgnn {

// Of each figure the median over the epochs is said; of two in the middle,
// their mean.
struct EpochReport {
  v1::JobSpec spec;                                // Effective.
  std::vector<EpochMetrics> epochs;                // That count; at least one.
  std::string counted = "epochs after the first";  // What they are.
};

nlohmann::ordered_json ToJson(const EpochReport& report);
std::string ToText(const EpochReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_
