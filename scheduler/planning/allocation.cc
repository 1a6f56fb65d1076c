#include "scheduler/planning/allocation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/queue/job_shape.h"

namespace fgnn {
namespace {

// Most batches of an epoch that are simulated. The time of a longer epoch is
// taken in proportion.
constexpr uint64_t kEnoughBatches = 4096;
// Number of batches beside which the first filling of the queue matters little.
constexpr uint64_t kManyBatches = 1000;
constexpr uint64_t kLeastEpochs = 3;
constexpr uint64_t kMostEpochs = 20;
// Relative difference below which epochs are equal.
constexpr double kTie = 1e-3;
constexpr double kLeastGain = 0.05;  // Share of an epoch.

struct Mean {
  double sample = 0;
  double train = 0;
};

bool OnlySamples(const AllocationInput& input, size_t device) {
  return device < input.only_sample.size() && input.only_sample[device];
}

// Returns the number of devices that only sample.
uint32_t NumOnlySample(const AllocationInput& input) {
  return static_cast<uint32_t>(
      std::count(input.only_sample.begin(), input.only_sample.end(), true));
}

Mean MeanOf(const AllocationInput& input) {
  const size_t num_devices = input.devices.size();
  const size_t may_train = num_devices - NumOnlySample(input);
  Mean mean;
  for (size_t i = 0; i < num_devices; ++i) {
    const DeviceTimes& times = input.devices[i];
    mean.sample += times.sample / static_cast<double>(num_devices);
    if (OnlySamples(input, i)) continue;
    mean.train += times.train / static_cast<double>(may_train);
  }
  return mean;
}

uint32_t EpochsToSimulate(const AllocationInput& input) {
  const uint64_t batches = std::max<uint64_t>(input.batches_per_epoch, 1);
  return static_cast<uint32_t>(
      std::clamp(kManyBatches / batches, kLeastEpochs, kMostEpochs));
}

bool IsAllowed(const AllocationInput& input, uint32_t num_samplers) {
  const uint32_t num_devices = static_cast<uint32_t>(input.devices.size());
  const uint32_t num_trainers = num_devices - num_samplers;
  if (num_trainers == 0 && !input.switching) return false;
  if (num_samplers < NumOnlySample(input)) return false;
  if (input.samplers.has_value()) return num_samplers == *input.samplers;
  return num_samplers <= input.most_samplers.value_or(num_devices) &&
         num_trainers <= input.most_trainers.value_or(num_devices);
}

absl::Status CheckSamplers(const AllocationInput& input) {
  const size_t num_devices = input.devices.size();
  if (!input.switching && num_devices == 1) {
    return absl::InvalidArgumentError(
        "one device alone cannot sample and train without switching; let it "
        "switch, or add a device");
  }
  if (!input.samplers.has_value()) return absl::OkStatus();
  const size_t most = input.switching ? num_devices : num_devices - 1;
  const uint32_t least = std::max(NumOnlySample(input), 1U);
  if (*input.samplers >= least && *input.samplers <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "samplers is ", *input.samplers, ", must be ", least, " to ", most,
      " of ", num_devices, num_devices == 1 ? " device" : " devices",
      input.switching ? "" : " without switching"));
}

}  // namespace

AllocationInput AllocationInputOf(const JobSpec& spec,
                                  const SegmentOptions& segment) {
  AllocationInput input;
  // A host without places has no work to plan; its devices are planned as if it
  // had one.
  // A part of a batch is planned as a batch is.
  const JobShape shape(segment);
  input.batches_per_epoch =
      std::max<uint64_t>(shape.TasksOf(shape.BatchesOfEpoch(0)).size(), 1);
  input.batches_per_step = std::max<uint32_t>(
      static_cast<uint32_t>(segment.own_places() * segment.parts), 1);
  input.num_slots = segment.num_slots;
  input.staleness = segment.staleness;
  input.switching = spec.switching;
  input.seed = spec.training.seed;
  if (spec.samplers > 0) input.samplers = spec.samplers;
  input.most_samplers = segment.most_samplers;
  input.most_trainers = segment.most_trainers;
  const std::vector<Device> cores = DevicesThatOnlySample(spec.devices);
  for (const Device& device : spec.devices) {
    if (cores.empty()) break;
    input.only_sample.push_back(std::find(cores.begin(), cores.end(), device) !=
                                cores.end());
  }
  return input;
}

uint32_t PaperSamplers(double ts, double tt, uint32_t devices) {
  // Rounding may put the product just above a whole number.
  const double share = ts / (ts + tt) * devices;
  return std::clamp(static_cast<uint32_t>(std::ceil(share - 1e-9)), 1U,
                    devices);
}

std::vector<DevicePlan> PlansFor(const AllocationInput& input,
                                 uint32_t num_samplers) {
  const std::vector<DeviceTimes>& devices = input.devices;
  std::vector<DevicePlan> plans(devices.size(), DevicePlan::kTrain);
  std::vector<size_t> order;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (OnlySamples(input, i)) {
      plans[i] = DevicePlan::kOnlySample;
    } else {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return devices[a].sample * devices[b].train <
           devices[b].sample * devices[a].train;
  });
  const size_t others =
      num_samplers - std::min(num_samplers, NumOnlySample(input));
  for (size_t i = 0; i < std::min(others, order.size()); ++i) {
    plans[order[i]] = DevicePlan::kSample;
  }
  return plans;
}

SimulationOptions SimulationOf(const AllocationInput& input,
                               const std::vector<DevicePlan>& plans) {
  SimulationOptions options;
  uint32_t training = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    options.devices.push_back({plans[i], input.devices[i]});
    if (plans[i] == DevicePlan::kLost || plans[i] == DevicePlan::kOnlySample) {
      continue;
    }
    if (plans[i] != DevicePlan::kSample || input.switching) ++training;
  }
  options.batches_per_epoch = input.batches_per_epoch;
  options.epochs = input.epochs > 0 ? input.epochs : EpochsToSimulate(input);
  options.batches_per_step = input.batches_per_step > 0
                                 ? input.batches_per_step
                                 : std::max(training, 1U);
  options.num_slots = input.num_slots;
  options.staleness = input.staleness;
  options.switching = input.switching;
  options.spread = input.spread;
  options.seed = input.seed;
  options.switch_seconds = input.switch_seconds;
  options.step_seconds = input.step_seconds;
  return options;
}

absl::StatusOr<double> PredictEpochSeconds(
    const AllocationInput& input, const std::vector<DevicePlan>& plans) {
  if (plans.size() != input.devices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plans are ", plans.size(), ", but devices ",
                     input.devices.size(), "; give one for each"));
  }
  SimulationOptions options = SimulationOf(input, plans);
  options.batches_per_epoch =
      std::min(input.batches_per_epoch,
               std::max<uint64_t>(kEnoughBatches, input.num_slots));
  FGNN_ASSIGN_OR_RETURN(const Simulation simulation, Simulate(options));
  return simulation.mean_seconds *
         static_cast<double>(input.batches_per_epoch) /
         static_cast<double>(options.batches_per_epoch);
}

absl::StatusOr<Allocation> Allocate(const AllocationInput& input) {
  FGNN_RETURN_IF_ERROR(CheckSamplers(input));
  const uint32_t num_devices = static_cast<uint32_t>(input.devices.size());
  Allocation allocation;
  for (uint32_t n = 1; n <= num_devices; ++n) {
    if (!IsAllowed(input, n)) continue;
    FGNN_ASSIGN_OR_RETURN(const double seconds,
                          PredictEpochSeconds(input, PlansFor(input, n)));
    allocation.candidates.push_back({n, seconds});
  }
  if (num_devices == 0) {
    return absl::InvalidArgumentError("devices are 0, must be 1 or more");
  }
  if (allocation.candidates.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "of ", num_devices, " devices at most ",
        input.most_samplers.value_or(num_devices), " can sample and ",
        input.most_trainers.value_or(num_devices),
        " train for lack of memory, which leaves no plan; shrink the batches "
        "or the caches, or take fewer devices"));
  }
  const Mean mean = MeanOf(input);
  allocation.paper_samplers =
      PaperSamplers(mean.sample, mean.train, num_devices);
  double shortest = allocation.candidates.front().epoch_seconds;
  for (const AllocationCandidate& candidate : allocation.candidates) {
    shortest = std::min(shortest, candidate.epoch_seconds);
    if (candidate.num_samplers == allocation.paper_samplers) {
      allocation.paper_epoch_seconds = candidate.epoch_seconds;
    }
  }
  const auto best =
      std::find_if(allocation.candidates.begin(), allocation.candidates.end(),
                   [&](const AllocationCandidate& candidate) {
                     return candidate.epoch_seconds <= shortest * (1 + kTie);
                   });
  allocation.num_samplers = best->num_samplers;
  allocation.epoch_seconds = best->epoch_seconds;
  allocation.plans = PlansFor(input, best->num_samplers);
  return allocation;
}

bool ShouldReplan(const ReplanInput& input) {
  const double gain = input.current_epoch_seconds - input.best_epoch_seconds;
  return gain >= kLeastGain * input.current_epoch_seconds && gain > 0 &&
         gain * static_cast<double>(input.epochs_left) > input.change_seconds;
}

}  // namespace fgnn
