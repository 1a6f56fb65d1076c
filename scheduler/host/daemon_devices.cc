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

absl::Status DaemonTable::SwitchDevice(const std::string& job_id,
                                       const std::string& device,
                                       std::optional<DevicePlan> plan) {
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
  if (devices.table().plan(index) == DevicePlan::kTimeShare) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job_id,
                     " is time_sharing: each device samples and trains in "
                     "turn; submit it with executors: factored"));
  }
  FGNN_RETURN_IF_ERROR(Annotate(devices.Switch(index, plan), device));
  LogInfo("job {}: {} is switched to {} by hand", job_id, device,
          plan.has_value() ? WordOf(*plan) : "what is planned");
  return absl::OkStatus();
}

}  // namespace fgnn
