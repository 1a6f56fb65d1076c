// Of DaemonTable: the devices of jobs whose segment is open, where they take
// turns.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/host/daemon_table.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::Status SharesTimeError(const std::string& job_id,
                             const std::string& device,
                             const JobDevices& devices) {
  const size_t num_lost = devices.lost().size();
  if (num_lost > 0 && num_lost + 1 == devices.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        device, " is the last device of job ", job_id,
        ": it samples and trains in turn; bring another one back first"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("job ", job_id,
                   " is time_sharing: each device samples and trains in "
                   "turn; submit it with executors: factored"));
}

}  // namespace

DaemonState DaemonTable::StateAttached(const Daemon& daemon) const {
  JobSegment* const segment = SegmentOf(daemon.job_id);
  if (segment == nullptr) return DaemonState::kWorking;
  const JobDevices& devices = segment->devices();
  if (daemon.number >= devices.size()) return DaemonState::kWorking;
  const DeviceWork own = daemon.placement.role == ExecutorRole::kSampler
                             ? DeviceWork::kSample
                             : DeviceWork::kTrain;
  return devices.table().working(daemon.number) == own ? DaemonState::kWorking
                                                       : DaemonState::kStandby;
}

std::vector<std::string> DaemonTable::open_jobs() const {
  std::vector<std::string> open;
  for (const auto& [id, job] : jobs_) {
    if (job.segment != nullptr) open.push_back(id);
  }
  return open;
}

std::vector<std::string> DaemonTable::DeviceNames(
    const std::string& job_id) const {
  std::vector<std::string> names(SegmentOf(job_id)->devices().size());
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by == job_id && daemon.number < names.size()) {
      names[daemon.number] = daemon.placement.device;
    }
  }
  return names;
}

absl::StatusOr<DevicePlan> DaemonTable::SwitchDevice(
    const std::string& job_id, const std::string& device,
    std::optional<DevicePlan> plan, Deadline now) {
  JobSegment* const segment = SegmentOf(job_id);
  if (segment == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job_id, " does not run"));
  }
  JobDevices& devices = segment->devices();
  if (devices.size() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job_id,
                     " has its executors together: they all work at once; "
                     "submit it with executors: factored"));
  }
  const std::vector<std::string> names = DeviceNames(job_id);
  const auto found = std::find(names.begin(), names.end(), device);
  if (found == names.end()) {
    return absl::NotFoundError(
        absl::StrCat("device '", device, "' is not one of job ", job_id,
                     "; it has ", absl::StrJoin(names, ", ")));
  }
  const auto index = static_cast<uint32_t>(found - names.begin());
  const bool was_lost = devices.IsLost(index);
  if (devices.SharesTime(index) && (plan.has_value() || !was_lost)) {
    return SharesTimeError(job_id, device, devices);
  }
  FGNN_RETURN_IF_ERROR(Annotate(devices.Switch(index, plan), device));
  if (was_lost) StartAgain(job_id, index, now);
  LogInfo("job {}: {} is {} {}{}", job_id, device,
          was_lost ? "back as" : "switched to",
          plan.has_value() ? WordOf(*plan) : "what is planned",
          plan.has_value() || !was_lost ? " by hand" : "");
  return devices.table().plan(index);
}

void DaemonTable::StartAgain(const std::string& job_id, uint32_t device,
                             Deadline now) {
  for (auto& [name, daemon] : daemons_) {
    if (!IsOn(daemon, job_id, device)) continue;
    daemon.budget.Renew();
    if (spawn_ && !daemon.process.has_value()) daemon.restart_at = now;
  }
}

bool DaemonTable::IsLost(const Daemon& daemon) const {
  JobSegment* const segment = SegmentOf(daemon.wanted_by);
  return segment != nullptr && segment->devices().IsLost(daemon.number);
}

std::optional<std::vector<std::string>> DaemonTable::LoseDevice(
    const Daemon& daemon) {
  const std::string& job_id = daemon.wanted_by;
  JobSegment* const segment = SegmentOf(job_id);
  if (segment == nullptr || !segment->devices().Lose(daemon.number)) {
    return std::nullopt;
  }
  for (auto& [name, other] : daemons_) {
    if (IsOn(other, job_id, daemon.number)) other.restart_at.reset();
  }
  std::vector<std::string> left = DeviceNames(job_id);
  const std::vector<uint32_t> lost = segment->devices().lost();
  for (auto device = lost.rbegin(); device != lost.rend(); ++device) {
    left.erase(left.begin() + *device);
  }
  return left;
}

}  // namespace fgnn
