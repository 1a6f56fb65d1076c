// What the hosts of a job send each other in a step, and how long that takes.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EXCHANGE_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_EXCHANGE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fgnn/v1/device_service.pb.h"
#include "nlohmann/json.hpp"
#include "shared/config/job_hosts.h"

namespace fgnn {

// A step's exchange, as one host sees it.
struct HostExchange {
  std::string host;
  uint64_t num_places = 0;      // Number of places of each step that it has.
  uint64_t sent_bytes = 0;      // Bytes of its gradients, to all other hosts.
  uint64_t received_bytes = 0;  // Bytes of the others' gradients.
  // Seconds that the longer of both takes, one host after the other; nullopt:
  // one of its links was not measured.
  std::optional<double> seconds = std::nullopt;
  // Seconds in which its devices train its places.
  double training_seconds = 0;
};

struct ExchangeReport {
  std::vector<HostExchange> hosts;
  uint64_t batches_per_step = 0;
  // Seconds of the slowest host; nullopt: not all links were measured.
  std::optional<double> seconds = std::nullopt;
  double training_seconds = 0;  // Of the slowest host.

  // Whether the network, and not the devices, sets the time of a step.
  bool network_is_slower() const {
    return seconds.has_value() && *seconds > training_seconds;
  }
};

// Returns what each host of a job of several hosts sends and gets in a step.
// `links`: those that the service knows, with its own host's name.
// `seconds_per_batch`: the time in which a device trains a batch.
ExchangeReport ReportExchange(const std::vector<HostShare>& hosts,
                              uint64_t num_parameters, double seconds_per_batch,
                              const v1::ListDevicesResponse& links);

nlohmann::ordered_json ToJson(const ExchangeReport& report);
std::string ToText(const ExchangeReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EXCHANGE_REPORT_H_
