// Whether all hosts of a job evaluate together, or the service's own host
// alone. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_HOSTS_HOST_EVALUATION_H_
#define FGNN_SCHEDULER_PLANNING_HOSTS_HOST_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "scheduler/planning/job_plan.h"
#include "shared/config/job_hosts.h"

namespace fgnn {

// Returns the bytes of all results that hosts trade in an evaluation, which
// each host keeps until its end: outputs of all layers for the vertices that
// are needed. Messages are none of them: each host makes them itself, since a
// product of a row takes less time than its way to another host.
uint64_t ResultBytes(const PlanInput& input);

// Returns the bytes that a second brings from one host to another; nullopt: it
// was not measured.
using RateBetween = std::function<std::optional<double>(const HostShare& from,
                                                        const HostShare& to)>;

struct EvaluationChoice {
  bool by_all = false;  // Whether all hosts evaluate.
  // Most bytes that a host gets from the others if all hosts evaluate.
  uint64_t bytes = 0;
  // Seconds that an evaluation is expected to take: on the service's own host
  // alone, and on all hosts. nullopt: a link was not measured.
  double alone_seconds = 0;
  std::optional<double> all_seconds = std::nullopt;
};

// Chooses by hosts.evaluation. For "auto", all hosts evaluate where that is
// expected to take less time. Times follow from that of a batch: a gradient
// takes as long as three passes forward. `hosts`: the service's own one first.
EvaluationChoice ChooseEvaluation(const PlanInput& input,
                                  const std::vector<HostShare>& hosts,
                                  const RateBetween& rate);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_HOSTS_HOST_EVALUATION_H_
