// The output of `fgnn simulate`: for people, for programs, and as a timeline.
#ifndef FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "scheduler/planning/allocation.h"
#include "scheduler/planning/simulator.h"

namespace fgnn {

// Result for a number of sampling devices; 0: all devices share their time.
struct SimulatedPlan {
  uint32_t num_samplers = 0;
  Simulation simulation;
};

struct SimulateReport {
  AllocationInput input;
  Allocation allocation;  // The plan that the planner finds best.
  // Results for every possible number of samplers, then for time sharing.
  std::vector<SimulatedPlan> plans;
  // Options of the plan that was asked for.
  SimulationOptions options;
  SimulatedPlan chosen;

  bool shares_time() const { return chosen.num_samplers == 0; }
};

nlohmann::ordered_json ToJson(const SimulateReport& report);
std::string ToText(const SimulateReport& report);
// Returns a Chrome trace of the chosen plan, a row for each device.
std::string ToTrace(const SimulateReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_SIMULATE_REPORT_H_
