// What `fgnn simulate` says: for people, for programs, and as a timeline.
#ifndef FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "scheduler/planning/allocation.h"
#include "scheduler/planning/simulator.h"

namespace fgnn {

// A number of devices that sample; of 0, all share their time.
struct SimulatedPlan {
  uint32_t num_samplers = 0;
  Simulation simulation;
};

struct SimulateReport {
  AllocationInput input;
  Allocation allocation;  // What the planner finds best of all.
  // Every number of samplers that there may be, then time sharing.
  std::vector<SimulatedPlan> plans;
  // The one that was asked for.
  SimulationOptions options;
  SimulatedPlan chosen;

  bool shares_time() const { return chosen.num_samplers == 0; }
};

nlohmann::ordered_json ToJson(const SimulateReport& report);
std::string ToText(const SimulateReport& report);
// A Chrome trace of the chosen plan, a row for each device.
std::string ToTrace(const SimulateReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_
