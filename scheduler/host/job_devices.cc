#include "scheduler/host/job_devices.h"

#include <algorithm>

#include "shared/base/status.h"

namespace fgnn {

std::string_view WordOf(DevicePlan plan) {
  switch (plan) {
    case DevicePlan::kSample:
      return "sampler";
    case DevicePlan::kTrain:
      return "trainer";
    case DevicePlan::kTimeShare:
      break;
  }
  return "time_sharing";
}

std::string_view WordOf(DeviceWork work) {
  switch (work) {
    case DeviceWork::kSample:
      return "sampling";
    case DeviceWork::kTrain:
      return "training";
    case DeviceWork::kNothing:
      break;
  }
  return "";
}

JobDevices::JobDevices(Segment* segment)
    : switching_(segment->options().switching != 0), table_(segment, kNoOwner) {
  by_hand_.resize(size());
  for (uint32_t device = 0; device < size(); ++device) {
    const std::optional<DevicePlan> released = table_.released(device);
    planned_.push_back(released.value_or(table_.plan(device)));
    if (released.has_value()) by_hand_[device] = table_.plan(device);
  }
}

absl::Status JobDevices::CheckLocked(
    const std::vector<DevicePlan>& plans) const {
  const auto nobody_does = [&](DevicePlan role) {
    return std::none_of(plans.begin(), plans.end(), [&](DevicePlan plan) {
      return plan == role || plan == DevicePlan::kTimeShare;
    });
  };
  if (nobody_does(DevicePlan::kSample)) {
    return absl::FailedPreconditionError(
        "it is the last device that samples; have another one sample first");
  }
  // With switching, standby trainers do.
  if (!switching_ && nobody_does(DevicePlan::kTrain)) {
    return absl::FailedPreconditionError(
        "it is the last device that trains, and switching is off; have another "
        "one train first");
  }
  return absl::OkStatus();
}

std::vector<DevicePlan> JobDevices::WantedLocked() const {
  std::vector<DevicePlan> wanted = planned_;
  for (uint32_t device = 0; device < size(); ++device) {
    if (by_hand_[device].has_value()) wanted[device] = *by_hand_[device];
  }
  return wanted;
}

// Whoever is to sample begins before another one ends, so that there is always
// one who does.
void JobDevices::WriteLocked(const std::vector<DevicePlan>& plans) {
  for (const bool samples : {true, false}) {
    for (uint32_t device = 0; device < size(); ++device) {
      const bool is_turn = (plans[device] != DevicePlan::kTrain) == samples;
      const std::optional<DevicePlan> released =
          by_hand_[device].has_value()
              ? std::optional<DevicePlan>(planned_[device])
              : std::nullopt;
      if (is_turn && (plans[device] != table_.plan(device) ||
                      released != table_.released(device))) {
        table_.SetPlan(device, plans[device], released);
      }
    }
  }
}

void JobDevices::SetPlans(const std::vector<DevicePlan>& plans) {
  const std::lock_guard<std::mutex> lock(mutex_);
  planned_ = plans;
  planned_.resize(size(), DevicePlan::kSample);
  std::vector<DevicePlan> wanted = WantedLocked();
  if (!CheckLocked(wanted).ok()) {
    by_hand_.assign(size(), std::nullopt);
    wanted = planned_;
  }
  WriteLocked(wanted);
}

absl::Status JobDevices::Switch(uint32_t device,
                                std::optional<DevicePlan> plan) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device >= size()) {
    return absl::InvalidArgumentError("there is no such device");
  }
  const std::optional<DevicePlan> before = by_hand_[device];
  by_hand_[device] = plan;
  const std::vector<DevicePlan> wanted = WantedLocked();
  if (const absl::Status status = CheckLocked(wanted); !status.ok()) {
    by_hand_[device] = before;
    return status;
  }
  WriteLocked(wanted);
  return absl::OkStatus();
}

std::vector<DevicePlan> JobDevices::plans() const {
  std::vector<DevicePlan> plans;
  for (uint32_t device = 0; device < size(); ++device) {
    plans.push_back(table_.plan(device));
  }
  return plans;
}

void JobDevices::CacheAsPlanned() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t device = 0; device < size(); ++device) {
    table_.SetCachedAs(device, table_.plan(device));
  }
}

uint32_t JobDevices::NumStandbyCaches() const {
  uint32_t count = 0;
  for (uint32_t device = 0; device < size(); ++device) {
    count += table_.cached_as(device) == DevicePlan::kSample ? 1 : 0;
  }
  return count;
}

bool JobDevices::IsByHand(uint32_t device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return device < by_hand_.size() && by_hand_[device].has_value();
}

void JobDevices::SetExecutorOf(OwnerIndex owner, uint32_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  executor_of_[owner] = number;
}

std::optional<uint32_t> JobDevices::ExecutorOf(OwnerIndex owner) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = executor_of_.find(owner);
  if (found == executor_of_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> JobDevices::DeviceOf(OwnerIndex owner) const {
  const std::optional<uint32_t> number = ExecutorOf(owner);
  return number.has_value() && *number < size() ? number : std::nullopt;
}

}  // namespace fgnn
