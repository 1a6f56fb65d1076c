#include "scheduler/executors/job_devices.h"

#include <algorithm>

#include "shared/base/enum_words.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

bool NobodySamples(const std::vector<DevicePlan>& plans) {
  return std::none_of(plans.begin(), plans.end(), [](DevicePlan plan) {
    return plan == DevicePlan::kSample || plan == DevicePlan::kOnlySample ||
           plan == DevicePlan::kTimeShare;
  });
}

bool NobodyTrains(const std::vector<DevicePlan>& plans) {
  return std::none_of(plans.begin(), plans.end(), [](DevicePlan plan) {
    return plan == DevicePlan::kTrain || plan == DevicePlan::kTimeShare;
  });
}

constexpr EnumWord<DevicePlan> kRoles[] = {{DevicePlan::kSample, "sampler"},
                                           {DevicePlan::kOnlySample, "sampler"},
                                           {DevicePlan::kTrain, "trainer"},
                                           {DevicePlan::kLost, "lost"}};

constexpr EnumWord<DeviceWork> kWork[] = {{DeviceWork::kSample, "sampling"},
                                          {DeviceWork::kTrain, "training"}};

}  // namespace

std::string_view WordOf(DevicePlan plan) {
  return WordIn(kRoles, plan, "time_sharing");
}

std::string_view WordOf(DeviceWork work) { return WordIn(kWork, work, ""); }

JobDevices::JobDevices(Segment* segment)
    : switching_(segment->options().switching != 0), table_(segment, kNoOwner) {
  by_hand_.resize(size());
  lost_.resize(size());
  for (uint32_t device = 0; device < size(); ++device) {
    const DevicePlan plan = table_.plan(device);
    const std::optional<DevicePlan> released = table_.released(device);
    lost_[device] = plan == DevicePlan::kLost;
    const DevicePlan known = lost_[device] ? DevicePlan::kSample : plan;
    planned_.push_back(released.value_or(known));
    if (released.has_value() && !lost_[device]) by_hand_[device] = plan;
  }
}

absl::Status JobDevices::Check(const std::vector<DevicePlan>& plans) const {
  if (NobodySamples(plans)) {
    return absl::FailedPreconditionError(
        "it is the last device that samples; have another one sample first");
  }
  // With switching, standby trainers train if no device is planned to.
  if (!switching_ && NobodyTrains(plans)) {
    return absl::FailedPreconditionError(
        "it is the last device that trains, and switching is off; have another "
        "one train first");
  }
  return absl::OkStatus();
}

void JobDevices::Mend(const std::function<bool(uint32_t)>& may_change,
                      std::vector<DevicePlan>* plans) const {
  const auto give = [&](DevicePlan role, DevicePlan missing) {
    for (uint32_t device = 0; device < plans->size(); ++device) {
      if ((*plans)[device] != role || !may_change(device)) continue;
      (*plans)[device] = missing;
      return;
    }
  };
  const auto is_left = [](DevicePlan plan) {
    return plan != DevicePlan::kLost;
  };
  const auto left = std::find_if(plans->begin(), plans->end(), is_left);
  const bool is_last =
      std::count_if(plans->begin(), plans->end(), is_left) == 1;
  if (is_last && !switching_ && !Check(*plans).ok() &&
      may_change(static_cast<uint32_t>(left - plans->begin()))) {
    *left = DevicePlan::kTimeShare;
    return;
  }
  if (NobodySamples(*plans)) {
    give(DevicePlan::kTrain, DevicePlan::kSample);
  }
  if (!switching_ && NobodyTrains(*plans)) {
    give(DevicePlan::kSample, DevicePlan::kTrain);
  }
}

// Returns the plans of the devices that are left, with the roles set by hand.
std::vector<DevicePlan> JobDevices::WantedLocked() const {
  std::vector<DevicePlan> wanted = planned_;
  for (uint32_t device = 0; device < size(); ++device) {
    if (lost_[device]) wanted[device] = DevicePlan::kLost;
  }
  Mend([](uint32_t) { return true; }, &wanted);
  for (uint32_t device = 0; device < size(); ++device) {
    if (by_hand_[device].has_value()) wanted[device] = *by_hand_[device];
  }
  return wanted;
}

void JobDevices::ApplyLocked() {
  std::vector<DevicePlan> wanted = WantedLocked();
  if (!Check(wanted).ok()) {
    by_hand_.assign(size(), std::nullopt);
    wanted = WantedLocked();
  }
  WriteLocked(wanted);
}

// Devices that are to sample begin before other devices stop sampling, so that
// at least one device always samples.
void JobDevices::WriteLocked(const std::vector<DevicePlan>& plans) {
  const auto turn_of = [](DevicePlan plan) {
    return plan == DevicePlan::kLost ? 2 : plan == DevicePlan::kTrain ? 1 : 0;
  };
  for (const int turn : {0, 1, 2}) {
    for (uint32_t device = 0; device < size(); ++device) {
      const std::optional<DevicePlan> released =
          by_hand_[device].has_value() || lost_[device]
              ? std::optional<DevicePlan>(planned_[device])
              : std::nullopt;
      if (turn_of(plans[device]) == turn &&
          (plans[device] != table_.plan(device) ||
           released != table_.released(device))) {
        table_.SetPlan(device, plans[device], released);
      }
    }
  }
}

void JobDevices::SetPlans(const std::vector<DevicePlan>& plans) {
  const MutexLock lock(&mutex_);
  for (uint32_t device = 0; device < size(); ++device) {
    const DevicePlan plan =
        device < plans.size() ? plans[device] : DevicePlan::kSample;
    // A lost device that comes back gets its last plan. A device that came back
    // since the plan was made keeps its last plan too.
    if (lost_[device] || plan == DevicePlan::kLost) continue;
    planned_[device] = plan;
  }
  ApplyLocked();
}

absl::Status JobDevices::Switch(uint32_t device,
                                std::optional<DevicePlan> plan) {
  const MutexLock lock(&mutex_);
  if (device >= size()) {
    return absl::InvalidArgumentError("there is no such device");
  }
  if (plan.has_value() && planned_[device] == DevicePlan::kOnlySample) {
    return absl::FailedPreconditionError(
        "it only samples beside the job's GPUs; switch one of these");
  }
  const std::optional<DevicePlan> before = by_hand_[device];
  const bool was_lost = lost_[device];
  by_hand_[device] = plan;
  lost_[device] = false;
  std::vector<DevicePlan> wanted = WantedLocked();
  if (was_lost) {
    // Other devices had taken over the lost device's role. Those that were not
    // set by hand may change roles again.
    const auto may_change = [this](uint32_t other)
                                ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                  return !by_hand_[other].has_value();
                                };
    Mend(may_change, &wanted);
  }
  if (const absl::Status status = Check(wanted); !status.ok()) {
    by_hand_[device] = before;
    lost_[device] = was_lost;
    return status;
  }
  WriteLocked(wanted);
  if (was_lost && !plan.has_value()) ++num_changes_;
  return absl::OkStatus();
}

bool JobDevices::CanLoseLocked(uint32_t device) const {
  for (uint32_t other = 0; other < size(); ++other) {
    if (other != device && !lost_[other] &&
        planned_[other] != DevicePlan::kOnlySample) {
      return true;
    }
  }
  return false;
}

bool JobDevices::Lose(uint32_t device) {
  const MutexLock lock(&mutex_);
  if (device >= size()) return false;
  if (lost_[device]) return true;
  if (!CanLoseLocked(device)) return false;
  lost_[device] = true;
  by_hand_[device] = std::nullopt;
  ApplyLocked();
  ++num_changes_;
  return true;
}

bool JobDevices::IsLost(uint32_t device) const {
  const MutexLock lock(&mutex_);
  return device < lost_.size() && lost_[device];
}

std::vector<uint32_t> JobDevices::lost() const {
  const MutexLock lock(&mutex_);
  std::vector<uint32_t> lost;
  for (uint32_t device = 0; device < lost_.size(); ++device) {
    if (lost_[device]) lost.push_back(device);
  }
  return lost;
}

uint64_t JobDevices::num_changes() const {
  const MutexLock lock(&mutex_);
  return num_changes_;
}

std::vector<DevicePlan> JobDevices::plans() const {
  std::vector<DevicePlan> plans;
  for (uint32_t device = 0; device < size(); ++device) {
    plans.push_back(table_.plan(device));
  }
  return plans;
}

void JobDevices::CacheAsPlanned() {
  const MutexLock lock(&mutex_);
  for (uint32_t device = 0; device < size(); ++device) {
    if (!lost_[device]) table_.SetCachedAs(device, table_.plan(device));
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
  const MutexLock lock(&mutex_);
  return device < by_hand_.size() && by_hand_[device].has_value();
}

bool JobDevices::SharesTime(uint32_t device) const {
  const MutexLock lock(&mutex_);
  if (device >= size()) return false;
  const DevicePlan plan =
      lost_[device] ? planned_[device] : table_.plan(device);
  return plan == DevicePlan::kTimeShare;
}

void JobDevices::SetExecutorOf(OwnerIndex owner, uint32_t number) {
  const MutexLock lock(&mutex_);
  executor_of_[owner] = number;
}

std::optional<uint32_t> JobDevices::ExecutorOf(OwnerIndex owner) const {
  const MutexLock lock(&mutex_);
  const auto found = executor_of_.find(owner);
  if (found == executor_of_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> JobDevices::DeviceOf(OwnerIndex owner) const {
  const std::optional<uint32_t> number = ExecutorOf(owner);
  return number.has_value() && *number < size() ? number : std::nullopt;
}

}  // namespace fgnn
