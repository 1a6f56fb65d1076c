// Jobs, devices and the service as the JSON that the page reads. Names are
// those of `fgnn show --json`. Texts are PrintableText() and at most 500 bytes
// long. Numbers are those of the source, unrounded; a double that is not finite
// becomes null.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_STATUS_JSON_H_
#define FGNN_SCHEDULER_STATUS_PAGE_STATUS_JSON_H_

#include <vector>

#include "nlohmann/json.hpp"
#include "scheduler/executors/executor_view.h"
#include "scheduler/members/member_table.h"
#include "scheduler/status_page/device_now.h"
#include "scheduler/status_page/service_history.h"
#include "scheduler/store/job.h"

namespace fgnn {

// Returns what lists have of a job.
nlohmann::ordered_json JobToJson(const Job& job);
nlohmann::ordered_json JobsToJson(const std::vector<Job>& jobs);
// Returns what JobToJson() does, and what one job's page has beside it.
nlohmann::ordered_json JobDetailsToJson(const Job& job);
nlohmann::ordered_json DevicesToJson(const std::vector<DeviceNow>& devices);
nlohmann::ordered_json ExecutorsToJson(
    const std::vector<ExecutorView>& executors);
nlohmann::ordered_json QueuesToJson(const std::vector<QueueNow>& queues);
// Returns the members, and the links between hosts as jobs have measured them.
nlohmann::ordered_json HostsToJson(const std::vector<MemberView>& members);
nlohmann::ordered_json LinksToJson(const std::vector<HostPair>& links);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_STATUS_JSON_H_
