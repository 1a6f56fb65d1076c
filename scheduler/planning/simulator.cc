#include "scheduler/planning/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/planning/simulated_queue.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Time in whole ticks, so that equal times compare equal.
using Ticks = int64_t;
constexpr double kTicksPerSecond = 1e11;
constexpr Ticks kIdle = std::numeric_limits<Ticks>::max();
constexpr double kMostSeconds = 1e6;
constexpr double kMostSpread = 10;
constexpr uint64_t kMostBatches = 10'000'000;

Ticks ToTicks(double seconds) {
  return std::max<Ticks>(
      std::llround(std::min(seconds, kMostSeconds) * kTicksPerSecond), 1);
}

double ToSeconds(Ticks ticks) {
  return static_cast<double>(ticks) / kTicksPerSecond;
}

absl::Status CheckSeconds(size_t device, const char* field, double seconds,
                          bool may_be_zero) {
  if (std::isfinite(seconds) && (may_be_zero ? seconds >= 0 : seconds > 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "devices[", device, "].", field, " is ", seconds, " seconds, must be ",
      may_be_zero ? "0 or more" : "above 0"));
}

bool MayTrain(const SimulatedDevice& device) {
  return device.plan != DevicePlan::kOnlySample;
}

absl::Status CheckPlans(const SimulationOptions& options) {
  bool samples = false;
  bool trains = false;
  for (const SimulatedDevice& device : options.devices) {
    if (device.plan == DevicePlan::kLost) continue;
    samples |= device.plan != DevicePlan::kTrain;
    trains |= MayTrain(device) &&
              (device.plan != DevicePlan::kSample || options.switching);
  }
  if (!samples) {
    return absl::InvalidArgumentError(
        "all devices are planned to train, so that nobody samples; plan one to "
        "sample");
  }
  if (!trains) {
    return absl::InvalidArgumentError(
        "all devices are planned to sample without switching, so that nobody "
        "trains; plan one to train, or let them switch");
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const SimulationOptions& options) {
  const std::pair<const char*, uint64_t> counts[] = {
      {"batches_per_epoch", options.batches_per_epoch},
      {"epochs", options.epochs},
      {"batches_per_step", options.batches_per_step},
      {"num_slots", options.num_slots}};
  for (const auto& [field, count] : counts) {
    if (count == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " is 0, must be 1 or more"));
    }
  }
  if (options.batches_per_epoch > kMostBatches / options.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batches_per_epoch is ", options.batches_per_epoch, " in each of ",
        options.epochs, " epochs; simulate at most ", kMostBatches,
        " batches in all"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const SimulationOptions& options) {
  const size_t num_devices = options.devices.size();
  if (num_devices == 0 || num_devices > kMostSimulatedDevices) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devices are ", num_devices, ", must be 1 to ", kMostSimulatedDevices));
  }
  double slowest = 0;
  for (size_t i = 0; i < num_devices; ++i) {
    const DeviceTimes& times = options.devices[i].times;
    FGNN_RETURN_IF_ERROR(CheckSeconds(i, "sample", times.sample, false));
    FGNN_RETURN_IF_ERROR(
        CheckSeconds(i, "train", times.train, !MayTrain(options.devices[i])));
    FGNN_RETURN_IF_ERROR(CheckSeconds(i, "standby", times.standby, true));
    slowest =
        std::max(slowest, times.sample +
                              std::max(times.train, times.standby_or_train()));
  }
  FGNN_RETURN_IF_ERROR(CheckCounts(options));
  const std::pair<const char*, double> others[] = {
      {"switch_seconds", options.switch_seconds},
      {"step_seconds", options.step_seconds},
      {"spread", options.spread}};
  for (const auto& [field, value] : others) {
    if (!std::isfinite(value) || value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " is ", value, ", must be 0 or more"));
    }
  }
  if (options.spread > kMostSpread) {
    return absl::InvalidArgumentError(absl::StrCat(
        "spread is ", options.spread, ", must be at most ", kMostSpread));
  }
  const double most_seconds =
      (slowest + 2 * options.switch_seconds + options.step_seconds) *
      static_cast<double>(options.batches_per_epoch) * options.epochs;
  if (most_seconds > kMostSeconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the batches may take ", most_seconds,
        " seconds in all; simulate at "
        "most ",
        kMostSeconds, ": fewer batches or epochs, or shorter ones"));
  }
  return CheckPlans(options);
}

// Random factors of mean 1, by the number of the batch and the kind of work.
class Spread {
 public:
  Spread(double relative_deviation, uint64_t seed)
      : variance_(std::log1p(relative_deviation * relative_deviation)),
        key_(MakePhiloxKey(seed, 0, 0, 0, Purpose::kSimulation)) {}

  double FactorOf(BatchSeq seq, DeviceWork work) const {
    if (variance_ == 0) return 1;
    const PhiloxBlock block =
        Philox4x32({static_cast<uint32_t>(seq.value()),
                    static_cast<uint32_t>(seq.value() >> 32),
                    static_cast<uint32_t>(work), 0},
                   key_);
    // Box-Muller transform; u is above 0 for the logarithm.
    const double u = (block.words[0] + 1.0) * 0x1.0p-32;
    const double v = block.words[1] * 0x1.0p-32;
    const double normal =
        std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    return std::exp(std::sqrt(variance_) * normal - variance_ / 2);
  }

 private:
  double variance_;
  PhiloxKey key_;
};

class Job {
 public:
  explicit Job(const SimulationOptions& options)
      : options_(options),
        spread_(options.spread, options.seed),
        queue_(options),
        devices_(options.devices.size()) {
    simulation_.devices.resize(devices_.size());
    uint32_t num_trainers = 0;
    uint32_t may_train = 0;
    double train = 0;
    double standby = 0;
    for (const SimulatedDevice& device : options.devices) {
      if (!MayTrain(device)) continue;
      ++may_train;
      standby += device.times.standby_or_train();
      if (device.plan != DevicePlan::kTrain) continue;
      ++num_trainers;
      train += device.times.train;
    }
    for (size_t i = 0; i < devices_.size(); ++i) {
      SwitchSnapshot& seen = devices_[i].seen;
      seen.plan = options.devices[i].plan;
      seen.switching = options.switching;
      seen.num_slots = options.num_slots;
      seen.num_trainers = num_trainers;
      seen.train_seconds =
          num_trainers > 0 ? train / num_trainers : standby / may_train;
      seen.standby_seconds = options.devices[i].times.standby;
    }
  }

  absl::StatusOr<Simulation> Run() {
    while (!queue_.is_over()) {
      // Planned trainers fetch first, so that a standby trainer takes no batch
      // from them.
      LetIdleDevicesFetch(true);
      LetIdleDevicesFetch(false);
      FGNN_RETURN_IF_ERROR(EndNextWork());
    }
    return Finish();
  }

 private:
  struct DeviceState {
    SwitchSnapshot seen;                     // Snapshot at its last fetch.
    DeviceWork work = DeviceWork::kNothing;  // Work under way.
    bool makes_step = false;
    BatchSeq seq;
    Ticks end = kIdle;
  };

  void LetIdleDevicesFetch(bool planned_to_train) {
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      SwitchSnapshot& seen = devices_[i].seen;
      if (devices_[i].end != kIdle ||
          (seen.plan == DevicePlan::kTrain) != planned_to_train) {
        continue;
      }
      seen.free_batches = queue_.free_batches();
      seen.queued_batches = queue_.queued_batches();
      seen.trainable_batches = queue_.trainable_batches();
      seen.missing_batches = queue_.missing_batches();
      seen.batches_left = queue_.batches_left();
      const DeviceWork work = NextWork(seen);
      if (work == DeviceWork::kSample && seen.free_batches > 0) {
        Begin(i, work, queue_.ClaimForWriting());
      } else if (work == DeviceWork::kTrain && seen.trainable_batches > 0) {
        Begin(i, work, queue_.ClaimForReading());
      }
    }
  }

  double MeanSeconds(uint32_t i, DeviceWork work) const {
    const SimulatedDevice& device = options_.devices[i];
    if (work == DeviceWork::kSample) return device.times.sample;
    return device.plan == DevicePlan::kSample ? device.times.standby_or_train()
                                              : device.times.train;
  }

  void Begin(uint32_t i, DeviceWork work, BatchSeq seq) {
    DeviceState& device = devices_[i];
    DeviceUse& use = simulation_.devices[i];
    Ticks begin = now_;
    const DeviceWork last = std::exchange(device.seen.last, work);
    if (last != work) {
      if (work == DeviceWork::kTrain &&
          device.seen.plan == DevicePlan::kSample) {
        ++use.wakes;
      }
      if (last != DeviceWork::kNothing && options_.switch_seconds > 0) {
        begin += ToTicks(options_.switch_seconds);
        use.switch_seconds += options_.switch_seconds;
      }
    }
    device.work = work;
    device.seq = seq;
    device.end =
        begin + ToTicks(MeanSeconds(i, work) * spread_.FactorOf(seq, work));
    Account(i, begin);
  }

  void Account(uint32_t i, Ticks begin) {
    const DeviceState& device = devices_[i];
    DeviceUse& use = simulation_.devices[i];
    const double seconds = ToSeconds(device.end - begin);
    (device.work == DeviceWork::kSample ? use.sample_seconds
                                        : use.train_seconds) += seconds;
    if (!options_.keep_timeline) return;
    simulation_.timeline.push_back({.device = i,
                                    .work = device.work,
                                    .seq = device.seq,
                                    .makes_step = device.makes_step,
                                    .begin_seconds = ToSeconds(begin),
                                    .end_seconds = ToSeconds(device.end)});
  }

  absl::Status EndNextWork() {
    Ticks next = kIdle;
    for (const DeviceState& device : devices_) {
      next = std::min(next, device.end);
    }
    if (next == kIdle) {
      return absl::InternalError(
          absl::StrCat("no device takes one of the ", queue_.batches_left(),
                       " batches left of epoch ", queue_.epoch() + 1, ": ",
                       queue_.free_batches(), " may be sampled, ",
                       queue_.queued_batches(), " are ready, ",
                       queue_.trainable_batches(), " of them in open steps"));
    }
    now_ = next;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].end == next) End(i);
    }
    return absl::OkStatus();
  }

  void End(uint32_t i) {
    DeviceState& device = devices_[i];
    DeviceUse& use = simulation_.devices[i];
    device.end = kIdle;
    if (device.makes_step) {
      device.makes_step = false;
      a_step_is_made_ = false;
      Commit();
    } else if (device.work == DeviceWork::kSample) {
      ++use.sampled;
      queue_.Publish(device.seq);
    } else {
      ++use.trained;
      queue_.Release(device.seq);
    }
    if (device.work == DeviceWork::kTrain) MakeSteps(i);
  }

  // The device that finds all gradients of the next step makes it, one step at
  // a time.
  void MakeSteps(uint32_t i) {
    DeviceState& device = devices_[i];
    while (!a_step_is_made_ && queue_.IsStepDue()) {
      if (options_.step_seconds == 0) {
        Commit();
        continue;
      }
      a_step_is_made_ = true;
      device.makes_step = true;
      device.end = now_ + ToTicks(options_.step_seconds);
      Account(i, now_);
    }
  }

  void Commit() {
    if (!queue_.Commit()) return;
    simulation_.epoch_seconds.push_back(ToSeconds(now_ - epoch_begin_));
    epoch_begin_ = now_;
  }

  Simulation Finish() {
    simulation_.total_seconds = ToSeconds(now_);
    simulation_.mean_seconds = simulation_.total_seconds / options_.epochs;
    std::stable_sort(simulation_.timeline.begin(), simulation_.timeline.end(),
                     [](const WorkInterval& a, const WorkInterval& b) {
                       return a.end_seconds < b.end_seconds;
                     });
    return std::move(simulation_);
  }

  const SimulationOptions& options_;
  const Spread spread_;
  SimulatedQueue queue_;
  std::vector<DeviceState> devices_;
  bool a_step_is_made_ = false;
  Ticks now_ = 0;
  Ticks epoch_begin_ = 0;
  Simulation simulation_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const SimulationOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(options));
  return Job(options).Run();
}

}  // namespace fgnn
