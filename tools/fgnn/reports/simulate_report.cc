#include "tools/fgnn/reports/simulate_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/enum_words.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/telemetry/chrome_trace.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr EnumWord<DevicePlan> kPlans[] = {
    {DevicePlan::kSample, "sample"},
    {DevicePlan::kOnlySample, "sample"},
    {DevicePlan::kTrain, "train"},
    {DevicePlan::kTimeShare, "time_share"},
    {DevicePlan::kLost, "lost"}};

// Returns K, the ratio of the means over the devices.
double RatioOf(const AllocationInput& input) {
  double sample = 0;
  double train = 0;
  for (const DeviceTimes& times : input.devices) {
    sample += times.sample;
    train += times.train;
  }
  return train / sample;
}

double ShareOf(double seconds, const Simulation& simulation) {
  return seconds / simulation.total_seconds;
}

double BusyShare(const Simulation& simulation) {
  double busy = 0;
  for (const DeviceUse& use : simulation.devices) {
    busy += use.sample_seconds + use.train_seconds;
  }
  return ShareOf(busy, simulation) /
         static_cast<double>(simulation.devices.size());
}

uint64_t Wakes(const Simulation& simulation) {
  uint64_t wakes = 0;
  for (const DeviceUse& use : simulation.devices) wakes += use.wakes;
  return wakes;
}

Json PlanToJson(const SimulatedPlan& plan) {
  const Simulation& simulation = plan.simulation;
  return {{"samplers", plan.num_samplers},
          {"trainers", simulation.devices.size() - plan.num_samplers},
          {"epoch_seconds", simulation.mean_seconds},
          {"first_epoch_seconds", simulation.epoch_seconds.front()},
          {"busy_share", BusyShare(simulation)},
          {"wakes", Wakes(simulation)}};
}

Json DeviceToJson(const SimulatedDevice& device, const DeviceUse& use,
                  const Simulation& simulation) {
  const DeviceTimes& times = device.times;
  return {{"plan", std::string(WordIn(kPlans, device.plan))},
          {"ts", times.sample},
          {"tt", times.train},
          {"tt_standby", times.standby_or_train()},
          {"sampled", use.sampled},
          {"trained", use.trained},
          {"wakes", use.wakes},
          {"sampling_share", ShareOf(use.sample_seconds, simulation)},
          {"training_share", ShareOf(use.train_seconds, simulation)},
          {"switching_share", ShareOf(use.switch_seconds, simulation)}};
}

std::string Milliseconds(double seconds) {
  return absl::StrFormat("%.4g ms", seconds * 1e3);
}

std::string Seconds(double seconds) {
  return seconds < 1 ? Milliseconds(seconds)
                     : absl::StrFormat("%.4g s", seconds);
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f %%", share * 100);
}

std::string Notes(const SimulateReport& report, const SimulatedPlan& plan) {
  const bool is_best = plan.num_samplers == report.allocation.num_samplers;
  const bool is_papers = plan.num_samplers == report.allocation.paper_samplers;
  std::string notes = is_best && is_papers ? "best, and the formula's"
                      : is_best            ? "best"
                      : is_papers          ? "the formula's"
                                           : "";
  if (plan.num_samplers == 0) notes = "all in turn: time sharing";
  if (plan.num_samplers == report.chosen.num_samplers && !is_best) {
    absl::StrAppend(&notes, notes.empty() ? "" : "; ", "shown below");
  }
  return notes;
}

std::string FormulaText(const SimulateReport& report) {
  const Allocation& allocation = report.allocation;
  std::string text = absl::StrFormat(
      "the paper's formula, ceil(Ng / (K + 1)) with K = Tt / Ts = %.3g: %u",
      RatioOf(report.input), allocation.paper_samplers);
  if (allocation.paper_epoch_seconds == 0) {
    const bool is_fixed = !report.input.switching &&
                          allocation.paper_samplers == allocation.plans.size();
    return absl::StrCat(text, is_fixed ? ", which leaves nobody to train\n"
                                       : ", for which there is no memory\n");
  }
  return absl::StrCat(
      text, ", an epoch ",
      Percent(allocation.paper_epoch_seconds / allocation.epoch_seconds - 1),
      " longer than the best\n");
}

}  // namespace

Json ToJson(const SimulateReport& report) {
  const Allocation& allocation = report.allocation;
  const Simulation& chosen = report.chosen.simulation;
  Json plans = Json::array();
  for (const SimulatedPlan& plan : report.plans) {
    if (plan.num_samplers > 0) plans.push_back(PlanToJson(plan));
  }
  Json devices = Json::array();
  for (size_t i = 0; i < chosen.devices.size(); ++i) {
    devices.push_back(
        DeviceToJson(report.options.devices[i], chosen.devices[i], chosen));
  }
  return {{"batches", report.options.batches_per_epoch},
          {"batches_per_step", report.options.batches_per_step},
          {"slots", report.options.num_slots},
          {"staleness", report.options.staleness},
          {"switching", report.options.switching},
          {"spread", report.options.spread},
          {"seed", report.options.seed},
          {"k", RatioOf(report.input)},
          {"best_samplers", allocation.num_samplers},
          {"best_epoch_seconds", allocation.epoch_seconds},
          {"formula_samplers", allocation.paper_samplers},
          {"formula_epoch_seconds", allocation.paper_epoch_seconds > 0
                                        ? Json(allocation.paper_epoch_seconds)
                                        : Json()},
          {"plans", std::move(plans)},
          {"time_sharing_epoch_seconds",
           report.plans.back().simulation.mean_seconds},
          {"executors", report.shares_time() ? "time_sharing" : "factored"},
          {"samplers", report.chosen.num_samplers},
          {"epoch_seconds", chosen.mean_seconds},
          {"first_epoch_seconds", chosen.epoch_seconds.front()},
          {"seconds_of_epochs", chosen.epoch_seconds},
          {"total_seconds", chosen.total_seconds},
          {"devices", std::move(devices)}};
}

std::string ToText(const SimulateReport& report) {
  TextTable plans(
      {"samplers", "trainers", "epoch", "first", "busy", "wakes", ""},
      {0, 1, 2, 3, 4, 5});
  for (const SimulatedPlan& plan : report.plans) {
    const Simulation& simulation = plan.simulation;
    const bool shares = plan.num_samplers == 0;
    const size_t trainers = simulation.devices.size() - plan.num_samplers;
    plans.AddRow({shares ? "-" : absl::StrCat(plan.num_samplers),
                  shares ? "-" : absl::StrCat(trainers),
                  Seconds(simulation.mean_seconds),
                  Seconds(simulation.epoch_seconds.front()),
                  Percent(BusyShare(simulation)),
                  absl::StrCat(Wakes(simulation)), Notes(report, plan)});
  }
  TextTable devices({"device", "plan", "Ts", "Tt", "sampled", "trained",
                     "wakes", "sampling", "training", "idle"},
                    {0, 2, 3, 4, 5, 6, 7, 8, 9});
  const Simulation& chosen = report.chosen.simulation;
  for (size_t i = 0; i < chosen.devices.size(); ++i) {
    const SimulatedDevice& device = report.options.devices[i];
    const DeviceUse& use = chosen.devices[i];
    const double busy =
        use.sample_seconds + use.train_seconds + use.switch_seconds;
    const bool is_standby = device.plan == DevicePlan::kSample;
    devices.AddRow({absl::StrCat(i), std::string(WordIn(kPlans, device.plan)),
                    Milliseconds(device.times.sample),
                    Milliseconds(is_standby ? device.times.standby_or_train()
                                            : device.times.train),
                    absl::StrCat(use.sampled), absl::StrCat(use.trained),
                    absl::StrCat(use.wakes),
                    Percent(ShareOf(use.sample_seconds, chosen)),
                    Percent(ShareOf(use.train_seconds, chosen)),
                    Percent(1 - ShareOf(busy, chosen))});
  }
  return absl::StrCat(plans.ToString(), FormulaText(report), "\n",
                      devices.ToString());
}

std::string ToTrace(const SimulateReport& report) {
  ChromeTrace trace;
  trace.title = "fgnn simulate";
  for (size_t i = 0; i < report.options.devices.size(); ++i) {
    trace.rows.push_back(absl::StrCat(
        "device ", i, " (",
        std::string(WordIn(kPlans, report.options.devices[i].plan)), ")"));
  }
  for (const WorkInterval& work : report.chosen.simulation.timeline) {
    const char* const name = work.work == DeviceWork::kSample ? "sample"
                             : work.makes_step                ? "step"
                                                              : "train";
    trace.spans.push_back(
        {work.device, absl::StrCat(name, " ", work.seq.value()), name,
         work.seq.value(), work.begin_seconds, work.end_seconds});
  }
  const uint64_t batches = report.options.batches_per_epoch;
  double end = 0;
  for (size_t i = 0; i < report.chosen.simulation.epoch_seconds.size(); ++i) {
    end += report.chosen.simulation.epoch_seconds[i];
    trace.marks.push_back({absl::StrCat("end of epoch ", i + 1), end,
                           BatchesOfEpochs(i, i + 1, batches).end.value() - 1});
  }
  return ToText(trace);
}

}  // namespace fgnn
