// The output of `fgnn bench epoch` and `fgnn bench train`, for people and for
// programs.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_

#include <string>
#include <vector>

#include "fgnn/v1/job.pb.h"
#include "nlohmann/json.hpp"
#include "tools/fgnn/reports/epoch_metrics.h"

namespace fgnn {

// Each figure is the median over the epochs; of two in the middle, their mean.
struct EpochReport {
  v1::JobSpec spec;                  // Effective spec.
  std::vector<EpochMetrics> epochs;  // Epochs that count; at least one.
  // Description of these epochs.
  std::string counted = "epochs after the first";
};

nlohmann::ordered_json ToJson(const EpochReport& report);
std::string ToText(const EpochReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EPOCH_REPORT_H_
