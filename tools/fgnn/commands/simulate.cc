// simulate: computes plans and epochs for given times of a batch; nothing is
// started.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/reports/simulate_report.h"

namespace fgnn {
namespace {

// Most batches of all epochs together.
constexpr uint64_t kMostSimulatedBatches = 1'000'000;
constexpr uint32_t kMostSimulatedEpochs = 10'000;
constexpr double kMostSpread = 10;

struct SimulateFlags {
  std::vector<std::string> ts;
  std::vector<std::string> tt;
  std::vector<std::string> tt_standby;
  std::optional<uint32_t> devices;
  std::string samplers = "auto";
  std::optional<uint32_t> batches_per_step;
  std::optional<uint32_t> slots;
  std::string switch_time = "0ms";
  std::string step_time = "0ms";
  bool time_sharing = false;
  std::string trace;
  AllocationInput input;  // What the other flags say.
};

absl::StatusOr<double> SecondsOf(const char* flag, const std::string& text,
                                 bool may_be_zero) {
  const absl::StatusOr<double> seconds = ParseSeconds(text);
  if (!seconds.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", seconds.status().message()));
  }
  if (*seconds == 0 && !may_be_zero) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "' must be above 0"));
  }
  return *seconds;
}

// Returns one value per device, from one for all devices or one for each. An
// empty list becomes zeros.
absl::StatusOr<std::vector<double>> ListOf(
    const char* flag, const std::vector<std::string>& words,
    uint32_t num_devices) {
  std::vector<double> list;
  for (const std::string& word : words) {
    FGNN_ASSIGN_OR_RETURN(const double seconds, SecondsOf(flag, word, false));
    list.push_back(seconds);
  }
  if (list.size() < 2) {
    return std::vector<double>(num_devices, list.empty() ? 0 : list.front());
  }
  if (list.size() == num_devices) return list;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " has ", list.size(), " times, but there are ",
                   num_devices, " devices; give one, or one for each"));
}

absl::StatusOr<std::vector<DeviceTimes>> DevicesOf(const SimulateFlags& flags) {
  const size_t longest =
      std::max({flags.ts.size(), flags.tt.size(), flags.tt_standby.size()});
  const uint32_t num_devices =
      flags.devices.value_or(static_cast<uint32_t>(longest));
  if (num_devices == 0 || num_devices > kMostSimulatedDevices) {
    return absl::InvalidArgumentError(absl::StrCat("--devices is ", num_devices,
                                                   ", must be 1 to ",
                                                   kMostSimulatedDevices));
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<double> ts,
                        ListOf("--ts", flags.ts, num_devices));
  FGNN_ASSIGN_OR_RETURN(const std::vector<double> tt,
                        ListOf("--tt", flags.tt, num_devices));
  FGNN_ASSIGN_OR_RETURN(const std::vector<double> standby,
                        ListOf("--tt-standby", flags.tt_standby, num_devices));
  std::vector<DeviceTimes> devices;
  for (uint32_t i = 0; i < num_devices; ++i) {
    devices.push_back({ts[i], tt[i], standby[i]});
  }
  return devices;
}

// Returns the number of samplers; nullopt: the planner's.
absl::StatusOr<std::optional<uint32_t>> SamplersOf(
    const SimulateFlags& flags, const Allocation& allocation) {
  const size_t num_devices = allocation.plans.size();
  if (flags.samplers == "auto") return std::nullopt;
  if (flags.time_sharing) {
    return absl::InvalidArgumentError(
        "--samplers and --time-sharing exclude each other: with time sharing "
        "every device samples; leave one out");
  }
  const size_t most = flags.input.switching ? num_devices : num_devices - 1;
  uint32_t samplers = 0;
  if (!absl::SimpleAtoi(flags.samplers, &samplers) || samplers == 0 ||
      samplers > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--samplers is '", flags.samplers, "', must be auto or 1 to ", most));
  }
  const bool is_allowed =
      std::any_of(allocation.candidates.begin(), allocation.candidates.end(),
                  [&](const auto& candidate) {
                    return candidate.num_samplers == samplers;
                  });
  if (!is_allowed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--samplers is ", samplers, " of ", num_devices,
        " devices, which --most-samplers or --most-trainers forbids; leave one "
        "of them out"));
  }
  return std::optional<uint32_t>(samplers);
}

absl::StatusOr<AllocationInput> InputOf(const SimulateFlags& flags) {
  AllocationInput input = flags.input;
  FGNN_ASSIGN_OR_RETURN(input.devices, DevicesOf(flags));
  const uint32_t num_devices = static_cast<uint32_t>(input.devices.size());
  if (!input.switching && num_devices == 1) {
    return absl::InvalidArgumentError(
        "--no-switching: one device alone has to switch; leave it out, or give "
        "--devices 2");
  }
  if (input.batches_per_epoch > kMostSimulatedBatches / input.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--batches is ", input.batches_per_epoch, " in each of ", input.epochs,
        " epochs; at most ", kMostSimulatedBatches, " in all are simulated"));
  }
  input.batches_per_step = flags.batches_per_step.value_or(0);
  input.num_slots = flags.slots.value_or(8 * num_devices);
  FGNN_ASSIGN_OR_RETURN(input.switch_seconds,
                        SecondsOf("--switch-time", flags.switch_time, true));
  FGNN_ASSIGN_OR_RETURN(input.step_seconds,
                        SecondsOf("--step-time", flags.step_time, true));
  return input;
}

absl::StatusOr<SimulateReport> MakeReport(const SimulateFlags& flags) {
  SimulateReport report;
  FGNN_ASSIGN_OR_RETURN(report.input, InputOf(flags));
  const AllocationInput& input = report.input;
  absl::StatusOr<Allocation> allocation = Allocate(input);
  if (absl::IsFailedPrecondition(allocation.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--most-samplers and --most-trainers: ",
                     allocation.status().message()));
  }
  FGNN_ASSIGN_OR_RETURN(report.allocation, std::move(allocation));
  FGNN_ASSIGN_OR_RETURN(const std::optional<uint32_t> samplers,
                        SamplersOf(flags, report.allocation));
  const std::vector<DevicePlan> sharing(input.devices.size(),
                                        DevicePlan::kTimeShare);
  const auto plans_of = [&](uint32_t n) {
    return n == 0 ? sharing : PlansFor(input, n);
  };
  std::vector<uint32_t> numbers;
  for (const AllocationCandidate& candidate : report.allocation.candidates) {
    numbers.push_back(candidate.num_samplers);
  }
  numbers.push_back(0);
  for (const uint32_t n : numbers) {
    FGNN_ASSIGN_OR_RETURN(Simulation simulation,
                          Simulate(SimulationOf(input, plans_of(n))));
    report.plans.push_back({n, std::move(simulation)});
  }
  report.chosen.num_samplers =
      flags.time_sharing ? 0
                         : samplers.value_or(report.allocation.num_samplers);
  report.options = SimulationOf(input, plans_of(report.chosen.num_samplers));
  report.options.keep_timeline = !flags.trace.empty();
  FGNN_ASSIGN_OR_RETURN(report.chosen.simulation, Simulate(report.options));
  return report;
}

absl::Status RunSimulate(const SimulateFlags& flags,
                         const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const SimulateReport report, MakeReport(flags));
  if (!flags.trace.empty()) {
    FGNN_RETURN_IF_ERROR(
        Annotate(WriteFileAtomically(flags.trace, ToTrace(report)), "--trace"));
  }
  PrintReport(report, context);
  return absl::OkStatus();
}

void AddTimes(Command app, SimulateFlags& flags) {
  const auto add = [&app](const char* name, std::vector<std::string>& list,
                          const char* help) {
    return app.AddOption(name, list, help).SplitAt(',').Takes("TIMES");
  };
  add("--ts", flags.ts,
      "Ts: time to sample a batch, e.g. 10ms; one for all devices, or one for "
      "each: 10ms,12ms")
      .Required();
  add("--tt", flags.tt, "Tt: time to train a batch").Required();
  add("--tt-standby", flags.tt_standby,
      "Tt': time to train a batch on a device that samples; default: as --tt");
  app.AddOption("--switch-time", flags.switch_time,
                "Time that a device needs to take up the other work")
      .Takes("TIME")
      .ShowDefault();
  app.AddOption("--step-time", flags.step_time,
                "Time of a step, once its gradients are there")
      .Takes("TIME")
      .ShowDefault();
}

}  // namespace

void AddSimulateCommand(Command app, CommandContext& context) {
  const Command simulate = app.AddSubcommand(
      "simulate", "Plans and predicted epochs for given times of a batch");
  context.places["simulate"] = CommandPlace::kWithoutService;
  SimulateFlags& flags = OnRun(simulate, context, &RunSimulate);
  AllocationInput& input = flags.input;
  input.batches_per_epoch = 100;
  input.epochs = 3;
  AddTimes(simulate, flags);
  simulate.AddOption("--devices", flags.devices,
                     "Number of devices; default: as many as times are given");
  simulate
      .AddOption("--samplers", flags.samplers,
                 "Devices that sample; auto: the planner's number")
      .Takes("auto|N")
      .ShowDefault();
  simulate
      .AddOption("--most-samplers", input.most_samplers,
                 "Devices that have memory to sample; default: all")
      .Between(uint32_t{1}, UINT32_MAX);
  simulate.AddOption("--most-trainers", input.most_trainers,
                     "Devices that have memory to be planned to train; 0: "
                     "standby trainers alone; default: all");
  simulate
      .AddOption("--batches", input.batches_per_epoch, "Batches of an epoch")
      .Between(uint64_t{1}, kMostSimulatedBatches)
      .ShowDefault();
  simulate
      .AddOption("--batches-per-step", flags.batches_per_step,
                 "Batches of a step; default: as many as devices train")
      .Between(uint32_t{1}, UINT32_MAX);
  simulate
      .AddOption("--slots", flags.slots,
                 "Slots of the queue; default: 8 for each device")
      .Between(uint32_t{1}, UINT32_MAX);
  simulate
      .AddOption("--staleness", input.staleness,
                 "Steps that trainers may be ahead")
      .ShowDefault();
  simulate
      .AddOption("--spread", input.spread,
                 "Spread of a batch's times: standard deviation over mean")
      .Between(0.0, kMostSpread)
      .ShowDefault();
  simulate
      .AddOption("--epochs", input.epochs,
                 "Epochs to simulate; the result is their mean")
      .Between(uint32_t{1}, kMostSimulatedEpochs)
      .ShowDefault();
  simulate.AddFlag("!--no-switching", input.switching,
                   "Devices that sample never train");
  simulate.AddFlag("--time-sharing", flags.time_sharing,
                   "Every device samples and trains in turn");
  simulate.AddOption("--seed", input.seed, "Seed of the spread").ShowDefault();
  simulate
      .AddOption("--trace", flags.trace,
                 "Also write the timeline of the plan, as a Chrome trace")
      .Takes("FILE");
}

}  // namespace fgnn
