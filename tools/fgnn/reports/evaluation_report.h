// Who evaluates in a job of several hosts, and why.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EVALUATION_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_EVALUATION_REPORT_H_

#include <string>
#include <vector>

#include "fgnn/v1/device_service.pb.h"
#include "nlohmann/json.hpp"
#include "scheduler/planning/hosts/host_evaluation.h"
#include "scheduler/planning/job_plan.h"
#include "shared/config/job_hosts.h"

namespace fgnn {

// Chooses as the service does. `links`: those that the service knows, with its
// own host's name.
EvaluationChoice PlanEvaluation(const PlanInput& input,
                                const std::vector<HostShare>& hosts,
                                const v1::ListDevicesResponse& links);

nlohmann::ordered_json ToJson(const EvaluationChoice& choice);
std::string ToText(const EvaluationChoice& choice);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EVALUATION_REPORT_H_
