// How often, and by how much, FGNN's formula misses the number of samplers that
// the simulator finds best, over random jobs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/planning/allocation.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "tools/plot/line_plot.h"

namespace fgnn {
namespace {

struct Flags {
  uint64_t cases = 10000;
  uint64_t seed = 1;
  std::string plot;
};

// Uniform draws of one case, by their number.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t number)
      : key_(MakePhiloxKey(seed, 0, number, 0, Purpose::kSimulation)) {}

  double Between(double low, double high) {
    const uint32_t word = Philox4x32({next_++, 0, 0, 1}, key_).words[0];
    return low + (high - low) * word * 0x1.0p-32;
  }
  double LogBetween(double low, double high) {
    return std::exp(Between(std::log(low), std::log(high)));
  }
  uint32_t Whole(uint32_t low, uint32_t high) {
    return std::min(high, static_cast<uint32_t>(Between(low, high + 1.0)));
  }

 private:
  PhiloxKey key_;
  uint32_t next_ = 0;
};

// Steps of as many batches as devices train, as jobs have by default.
AllocationInput RandomJob(uint64_t seed, uint64_t number) {
  Draws draws(seed, number);
  AllocationInput input;
  const uint32_t num_devices = draws.Whole(2, 16);
  const double k = draws.LogBetween(0.25, 32);
  const double slower_standby = draws.Between(1, 1.5);
  input.devices.assign(num_devices, {.sample = 0.01,
                                     .train = 0.01 * k,
                                     .standby = 0.01 * k * slower_standby});
  input.batches_per_epoch = draws.Whole(50, 400);
  input.batches_per_step = num_devices;
  input.num_slots = num_devices * draws.Whole(4, 8);
  input.staleness = draws.Whole(0, 4);
  input.spread = draws.Between(0, 0.3);
  input.seed = number;
  return input;
}

// Of one way of running the jobs.
struct Misses {
  std::vector<double> longer;  // Per case: what the formula's epoch is over.
  uint64_t other_number = 0;   // Cases in which the planner names another one.

  uint64_t Beyond(double bound) const {
    return static_cast<uint64_t>(
        std::count_if(longer.begin(), longer.end(),
                      [&](double value) { return value > bound; }));
  }
  double ShareWithin(double bound) const {
    return 1 - static_cast<double>(Beyond(bound)) /
                   static_cast<double>(longer.size());
  }
  double Quantile(double share) const {
    std::vector<double> sorted = longer;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(share *
                                      static_cast<double>(sorted.size() - 1))];
  }
};

absl::Status AddCase(const AllocationInput& input, Misses& misses) {
  FGNN_ASSIGN_OR_RETURN(const Allocation found, Allocate(input));
  // Without switching the formula may leave nobody to train.
  double formula = found.paper_epoch_seconds;
  if (formula == 0) formula = found.candidates.back().epoch_seconds;
  double best = formula;
  for (const AllocationCandidate& candidate : found.candidates) {
    best = std::min(best, candidate.epoch_seconds);
  }
  misses.longer.push_back(formula / best - 1);
  misses.other_number += found.num_samplers != found.paper_samplers ? 1 : 0;
  return absl::OkStatus();
}

nlohmann::ordered_json ToJson(const Misses& misses) {
  return {{"another_number", misses.other_number},
          {"longer_by_1_percent", misses.Beyond(0.01)},
          {"longer_by_5_percent", misses.Beyond(0.05)},
          {"longer_by_20_percent", misses.Beyond(0.2)},
          {"median", misses.Quantile(0.5)},
          {"p95", misses.Quantile(0.95)},
          {"most", misses.Quantile(1)}};
}

std::string ToSvg(const Misses& switching, const Misses& fixed) {
  LinePlot plot;
  plot.title = "An epoch with the formula's samplers, beside the best number";
  plot.x_label = "longer by at most";
  plot.y_label = "share of the jobs";
  PlotLine with = {.name = "switching", .ys = {}};
  PlotLine without = {.name = "fixed plan", .ys = {}, .is_dashed = true};
  for (int percent = 0; percent <= 60; ++percent) {
    const double bound = percent / 100.0;
    plot.xs.push_back(bound);
    with.ys.push_back(switching.ShareWithin(bound));
    without.ys.push_back(fixed.ShareWithin(bound));
  }
  plot.lines = {with, without};
  return ToSvg(plot);
}

absl::Status Run(const Flags& flags) {
  Misses switching;
  Misses fixed;
  const Stopwatch stopwatch;
  for (uint64_t number = 0; number < flags.cases; ++number) {
    AllocationInput input = RandomJob(flags.seed, number);
    FGNN_RETURN_IF_ERROR(
        Annotate(AddCase(input, switching), absl::StrCat("case ", number)));
    input.switching = false;
    FGNN_RETURN_IF_ERROR(
        Annotate(AddCase(input, fixed), absl::StrCat("case ", number)));
  }
  if (!flags.plot.empty()) {
    FGNN_RETURN_IF_ERROR(
        WriteFileAtomically(flags.plot, ToSvg(switching, fixed)));
  }
  const nlohmann::ordered_json report = {{"cases", flags.cases},
                                         {"seed", flags.seed},
                                         {"seconds", stopwatch.Seconds()},
                                         {"switching", ToJson(switching)},
                                         {"fixed", ToJson(fixed)}};
  std::cout << report.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::CommandLine line(
      "FGNN's formula of samplers beside the planner, on random jobs",
      "fgnn_bench_allocation");
  const fgnn::Command app = line.root();
  fgnn::Flags flags;
  app.AddOption("--cases", flags.cases, "Random jobs")
      .Between(uint64_t{1}, uint64_t{1000000})
      .ShowDefault();
  app.AddOption("--seed", flags.seed, "Of the jobs").ShowDefault();
  app.AddOption("--plot", flags.plot, "Draw the shares into this SVG file")
      .Takes("FILE");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const absl::Status status = fgnn::Run(flags);
  if (status.ok()) return 0;
  std::cerr << "fgnn_bench_allocation: " << fgnn::MessageOf(status) << "\n";
  return 1;
}
