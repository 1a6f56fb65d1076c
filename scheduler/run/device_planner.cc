#include "scheduler/run/device_planner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "scheduler/planning/placement.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Least number of batches whose spread is used.
constexpr uint64_t kFewBatches = 8;

// Corrects the times of devices that have not done this work yet. Their first
// times are scaled as those of the devices of their kind that have done it have
// changed.
void Calibrate(const std::vector<DeviceTimes>& first,
               const std::vector<DeviceKind>& kinds,
               double DeviceTimes::*member, std::vector<DeviceTimes>* now) {
  TimesByKind took;
  TimesByKind expected;
  for (size_t i = 0; i < first.size(); ++i) {
    if ((*now)[i].*member == first[i].*member || first[i].*member <= 0) {
      continue;
    }
    took.On(kinds[i]).*member += (*now)[i].*member;
    expected.On(kinds[i]).*member += first[i].*member;
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const double seconds = took.On(kinds[i]).*member;
    if (seconds > 0 && (*now)[i].*member == first[i].*member) {
      (*now)[i].*member *= seconds / (expected.On(kinds[i]).*member);
    }
  }
}

template <typename T>
std::vector<T> OfThose(const std::vector<uint32_t>& left,
                       const std::vector<T>& all) {
  std::vector<T> those;
  for (const uint32_t i : left) those.push_back(all[i]);
  return those;
}

// Makes plans of all devices from the plans of those that are left.
std::vector<DevicePlan> OfAll(size_t num_devices,
                              const std::vector<uint32_t>& left,
                              const std::vector<DevicePlan>& plans) {
  std::vector<DevicePlan> of_all(num_devices, DevicePlan::kLost);
  for (size_t i = 0; i < left.size(); ++i) of_all[left[i]] = plans[i];
  return of_all;
}

uint32_t CountOf(const std::vector<DevicePlan>& plans, DevicePlan role) {
  return static_cast<uint32_t>(
      std::count_if(plans.begin(), plans.end(), [&](DevicePlan plan) {
        if (plan == DevicePlan::kOnlySample) plan = DevicePlan::kSample;
        return plan == role || plan == DevicePlan::kTimeShare;
      }));
}

}  // namespace

void DevicePlanner::Moments::Add(double seconds) {
  ++count;
  sum += seconds;
  squares += seconds * seconds;
}

double DevicePlanner::Moments::mean() const {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double DevicePlanner::Moments::deviation() const {
  if (count < 2) return 0;
  const double variance = (squares - sum * mean()) / double(count - 1);
  return std::sqrt(std::max(variance, 0.0));
}

DevicePlanner::DevicePlanner(std::string job_id, const JobSpec& spec,
                             const std::filesystem::path& state_dir)
    : job_id_(std::move(job_id)), spec_(spec), file_(spec, state_dir) {}

void DevicePlanner::SetProfile(const TimesByKind& profiled) {
  if (!spec_.takes_turns()) return;
  times_ = file_.Read().value_or(MeasuredTimes());
  FillIn(spec_, profiled, &times_);
}

void DevicePlanner::Begin(JobSegment* segment) {
  TakeOver(segment);
  if (segment_ == nullptr) return;
  for (uint32_t i = 0; i < devices().size() && i < times_.devices.size(); ++i) {
    devices().table().SetTimes(i, times_.devices[i]);
  }
  first_ = times_.devices;
  devices().SetPlans(FirstPlans());
  devices().CacheAsPlanned();
}

void DevicePlanner::TakeOver(JobSegment* segment) {
  if (!spec_.takes_turns() || segment->devices().size() == 0) return;
  segment_ = segment;
  done_.assign(devices().size(), Done());
  changes_seen_ = devices().num_changes();
  since_begin_.Restart();
  if (times_.devices.empty()) {
    times_ = file_.Read().value_or(MeasuredTimes());
    times_.devices.resize(devices().size());
  }
}

DevicePlanner::Left DevicePlanner::LookWhoIsLeft() const {
  Left left;
  for (uint32_t i = 0; i < devices().size(); ++i) {
    if (!devices().IsLost(i)) left.push_back(i);
  }
  return left;
}

std::optional<AllocationInput> DevicePlanner::InputOf(const Left& left) const {
  AllocationInput input = AllocationInputOf(spec_, segment_->options());
  input.spread = times_.spread;
  const std::optional<std::vector<DeviceTimes>> times =
      CompleteTimes(spec_, times_);
  if (!times.has_value()) return std::nullopt;
  input.devices = OfThose(left, *times);
  if (!input.only_sample.empty()) {
    input.only_sample = OfThose(left, input.only_sample);
  }
  if (input.samplers.has_value()) {
    // The job may ask for more samplers than devices are left.
    const auto num_left = static_cast<uint32_t>(left.size());
    const bool may_all = input.switching || num_left == 1;
    input.samplers = std::min(*input.samplers, num_left - (may_all ? 0 : 1));
  }
  return input;
}

std::vector<DevicePlan> DevicePlanner::FirstPlans() const {
  if (spec_.executors == "time_sharing") {
    LogInfo("job {}: each of {} devices samples and trains in turn", job_id_,
            devices().size());
    return std::vector<DevicePlan>(devices().size(), DevicePlan::kTimeShare);
  }
  absl::StatusOr<Allocation> best =
      absl::FailedPreconditionError("nothing was measured");
  const Left left = LookWhoIsLeft();
  if (const std::optional<AllocationInput> input = InputOf(left)) {
    best = Allocate(*input);
  }
  if (best.ok()) {
    LogInfo(
        "job {}: {} of {} devices sample, {:.2f} s an epoch expected; by the "
        "paper's formula {}, {:.2f} s",
        job_id_, best->num_samplers, best->plans.size(), best->epoch_seconds,
        best->paper_samplers, best->paper_epoch_seconds);
    return OfAll(devices().size(), left, best->plans);
  }
  LogWarning("job {}: devices cannot be planned: {}", job_id_,
             MessageOf(best.status()));
  const uint32_t most_trainers =
      std::min(segment_->options().most_trainers, devices().size());
  const uint32_t samplers =
      std::min(std::max({spec_.samplers, devices().size() - most_trainers, 1u}),
               devices().size());
  AllocationInput unknown = AllocationInputOf(spec_, segment_->options());
  unknown.devices.resize(devices().size());
  return PlansFor(unknown, samplers);
}

void DevicePlanner::Add(const BatchRecord& record) {
  // The owners and times of another host's record are that host's.
  if (segment_ == nullptr || record.other_host != 0) return;
  const DeviceTable& table = devices().table();
  // All numbers are of tasks. The seconds of sampling a batch are those of its
  // first part.
  if (const auto device = devices().DeviceOf(record.sampler)) {
    Done& done = done_[*device];
    ++done.sampled;
    if (record.part == 0) {
      done.sample.Add(record.sampling_seconds() /
                      static_cast<double>(segment_->options().parts));
    }
    done.busy_seconds += table.times(*device).sample;
  }
  if (const auto device = devices().DeviceOf(record.trainer)) {
    Done& done = done_[*device];
    ++done.trained;
    done.train.Add(double{record.train});
    done.input_nodes += record.num_input_nodes;
    done.cache_hits += record.num_cache_hits;
    const DeviceTimes times = table.times(*device);
    const bool is_standby = table.plan(*device) == DevicePlan::kSample;
    done.busy_seconds += is_standby ? times.standby_or_train() : times.train;
  }
}

uint64_t DevicePlanner::Wakes() const {
  uint64_t wakes = 0;
  for (uint32_t i = 0; i < devices().size(); ++i) {
    wakes += devices().table().wakes(i);
  }
  return wakes;
}

void DevicePlanner::BeginEpoch(EpochFacts* facts) {
  if (segment_ == nullptr) return;
  const std::vector<DevicePlan> plans = devices().plans();
  facts->samplers = CountOf(plans, DevicePlan::kSample);
  facts->trainers = CountOf(plans, DevicePlan::kTrain);
  for (uint32_t i = 0; i < devices().size(); ++i) {
    facts->devices.push_back({.device = spec_.devices[i].name,
                              .plan = std::string(WordOf(plans[i]))});
  }
  wakes_before_ = Wakes();
}

void DevicePlanner::LookAtTimes() {
  for (uint32_t i = 0; i < devices().size(); ++i) {
    times_.devices[i] = devices().table().times(i);
    // The spread is the widest among devices with enough batches.
    const auto widest = [](const Moments& of, double before) {
      if (of.count < kFewBatches || of.mean() <= 0) return before;
      return std::max(before, of.deviation() / of.mean());
    };
    if (i == 0) times_.spread = 0;
    times_.spread = widest(done_[i].sample, times_.spread);
    times_.spread = widest(done_[i].train, times_.spread);
  }
  if (first_.empty()) return;  // The segment was taken over.
  std::vector<DeviceTimes>& now = times_.devices;
  bool has_trainer = false;
  for (size_t i = 0; i < now.size(); ++i) {
    has_trainer = has_trainer || now[i].train != first_[i].train;
  }
  // If no planned trainer was measured, the times of standby trainers count as
  // times of training.
  for (size_t i = 0; i < now.size() && !has_trainer; ++i) {
    if (now[i].standby > 0) now[i].train = now[i].standby;
  }
  std::vector<DeviceKind> kinds;
  for (const Device& device : spec_.devices) {
    kinds.push_back(device.kind);
  }
  Calibrate(first_, kinds, &DeviceTimes::sample, &now);
  Calibrate(first_, kinds, &DeviceTimes::train, &now);
}

// Sets the cost of a change: the seconds that the first epoch of a new plan
// took beyond those expected.
void DevicePlanner::LookAtChange(double epoch_seconds) {
  epoch_seconds_ = epoch_seconds;
  if (expected_seconds_ <= 0) return;
  times_.change_seconds = std::max(epoch_seconds - expected_seconds_, 0.0);
  LogInfo("job {}: the new plan's first epoch took {:.3f} s, {:.3f} s expected",
          job_id_, epoch_seconds, expected_seconds_);
  expected_seconds_ = 0;
}

void DevicePlanner::EndEpoch(EpochFacts* facts) {
  if (segment_ == nullptr) return;
  LookAtTimes();
  facts->switches = static_cast<uint32_t>(Wakes() - wakes_before_);
  switches_ += facts->switches;
  for (uint32_t i = 0; i < devices().size(); ++i) {
    Done& done = done_[i];
    DeviceFacts& device = facts->devices[i];
    device.times = times_.devices[i];
    device.sample_deviation_ms = done.sample.deviation() * 1e3;
    device.train_deviation_ms = done.train.deviation() * 1e3;
    device.wake_ms = devices().table().TakeLongestWake(i) * 1e3;
    if (devices().IsLost(i)) device.plan = WordOf(DevicePlan::kLost);
    // Seconds of sampling are those of batches, see Add().
    device.sampled = done.sample.count * segment_->options().parts;
    device.trained = done.train.count;
    if (done.input_nodes > 0) {
      device.cache_hit_rate = static_cast<double>(done.cache_hits) /
                              static_cast<double>(done.input_nodes);
    }
    done.sample = done.train = Moments();
    done.input_nodes = done.cache_hits = 0;
  }
  LookAtChange(facts->seconds);
  if (const absl::Status kept = file_.Write(times_); !kept.ok()) {
    LogWarning("job {}: its devices' times are not kept: {}", job_id_,
               MessageOf(kept));
  }
}

void DevicePlanner::Replan(uint64_t epochs_left) {
  if (segment_ == nullptr || epochs_left == 0) return;
  if (DevicesChanged()) return ReplanIfDevicesChanged();
  const Left left = LookWhoIsLeft();
  if (!IsPlanned(left)) return;
  const std::optional<AllocationInput> input = InputOf(left);
  if (!input.has_value()) return;
  const std::vector<DevicePlan> plans = devices().plans();
  const absl::StatusOr<Allocation> best = Allocate(*input);
  const absl::StatusOr<double> now =
      PredictEpochSeconds(*input, OfThose(left, plans));
  if (!best.ok() || !now.ok()) {
    LogWarning("job {}: devices cannot be planned: {}", job_id_,
               MessageOf(best.ok() ? now.status() : best.status()));
    return;
  }
  const std::vector<DevicePlan> better = OfAll(plans.size(), left, best->plans);
  if (better == plans) return;
  // If no change was measured, it counts as one batch sampled and one trained.
  double change = times_.change_seconds;
  for (const DeviceTimes& device : input->devices) {
    if (times_.change_seconds <= 0) {
      change = std::max(change, device.sample + device.train);
    }
  }
  if (!ShouldReplan({.current_epoch_seconds = *now,
                     .best_epoch_seconds = best->epoch_seconds,
                     .epochs_left = epochs_left,
                     .change_seconds = change})) {
    return;
  }
  devices().SetPlans(better);
  if (devices().plans() == plans) return;  // The hand's roles stand.
  // The simulator leaves out the same costs for both plans, so the ratio of its
  // predictions is used.
  expected_seconds_ = epoch_seconds_ * best->epoch_seconds / *now;
  LogInfo(
      "job {}: {} of {} devices sample from now on, {} before: {:.2f} s an "
      "epoch expected instead of {:.2f} s; by the paper's formula {}",
      job_id_, best->num_samplers, left.size(),
      CountOf(plans, DevicePlan::kSample), expected_seconds_, epoch_seconds_,
      best->paper_samplers);
}

// A single device samples and trains; see JobDevices::Lose().
bool DevicePlanner::IsPlanned(const Left& left) const {
  return spec_.executors == "factored" && left.size() > 1;
}

bool DevicePlanner::DevicesChanged() const {
  return segment_ != nullptr && changes_seen_ != devices().num_changes();
}

void DevicePlanner::ReplanIfDevicesChanged() {
  if (!DevicesChanged()) return;
  changes_seen_ = devices().num_changes();
  // The epoch in which devices changed does not show the cost of a new plan.
  expected_seconds_ = 0;
  const Left left = LookWhoIsLeft();
  if (!IsPlanned(left)) return;
  const std::optional<AllocationInput> input = InputOf(left);
  const absl::StatusOr<Allocation> best =
      input.has_value() ? Allocate(*input)
                        : absl::FailedPreconditionError("nothing was measured");
  if (!best.ok()) {
    LogWarning("job {}: the devices that are left cannot be planned: {}",
               job_id_, MessageOf(best.status()));
    return;
  }
  devices().SetPlans(OfAll(devices().size(), left, best->plans));
  LogInfo(
      "job {}: {} of {} devices sample from now on, {:.2f} s an epoch expected",
      job_id_, best->num_samplers, left.size(), best->epoch_seconds);
}

std::vector<DeviceView> DevicePlanner::Views() const {
  std::vector<DeviceView> views;
  if (segment_ == nullptr) return views;
  const DeviceTable& table = devices().table();
  const double seconds = since_begin_.Seconds();
  for (uint32_t i = 0; i < devices().size(); ++i) {
    views.push_back(
        {.device = spec_.devices[i],
         .plan = table.plan(i),
         .by_hand = devices().IsByHand(i),
         .works = table.working(i),
         .times = table.times(i),
         .sampled = done_[i].sampled,
         .trained = done_[i].trained,
         .wakes = table.wakes(i),
         .busy =
             std::min(done_[i].busy_seconds / std::max(seconds, 1e-9), 1.0)});
  }
  return views;
}

}  // namespace fgnn
