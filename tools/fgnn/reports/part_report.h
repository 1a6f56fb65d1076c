// What `fgnn plan` says of a job whose batches are split into parts.
#ifndef FGNN_TOOLS_FGNN_REPORTS_PART_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_PART_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "scheduler/planning/parts/part_plan.h"

namespace fgnn {

nlohmann::ordered_json ToJson(const PartFigures& figures);
// Returns a line; empty: batches are whole.
std::string ToText(const PartFigures& figures);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_PART_REPORT_H_
