#include "scheduler/host/book/daemon_devices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

bool IsOn(const Daemon& daemon, const std::string& job_id, uint32_t device) {
  return daemon.wanted_by == job_id && daemon.number == device &&
         daemon.works_on_device();
}

// Returns what the loss costs a job whose batches have more parts than devices
// are left that may train; "": nothing. What an exchange of rows waits for is
// trained in turn.
std::string CostOfParts(const SegmentOptions& segment, const JobDevices& all) {
  const std::vector<DevicePlan> plans = all.plans();
  const auto num_left = plans.size() - all.lost().size();
  const auto that_train =
      num_left - static_cast<size_t>(std::count(plans.begin(), plans.end(),
                                                DevicePlan::kOnlySample));
  if (segment.parts <= that_train || segment.num_messages == 0) return "";
  const char* const computes = that_train == 1 ? "computes" : "compute";
  return absl::StrCat(
      ", ",
      that_train == num_left
          ? absl::StrCat("which ", computes)
          : absl::StrCat("of which ", that_train, " may train and ", computes),
      " each batch of ", segment.parts, " parts about ", segment.num_messages,
      " times");
}

}  // namespace

std::vector<std::string> DaemonDevices::Names(const std::string& job_id) const {
  std::vector<std::string> names(table_->SegmentOf(job_id)->devices().size());
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.wanted_by == job_id && daemon.number < names.size() &&
        daemon.works_on_device()) {
      names[daemon.number] = daemon.placement.device.name;
    }
  }
  return names;
}

absl::StatusOr<DevicePlan> DaemonDevices::Switch(const std::string& job_id,
                                                 const std::string& device,
                                                 std::optional<DevicePlan> plan,
                                                 Deadline now) {
  JobSegment* const segment = table_->SegmentOf(job_id);
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
  const std::vector<std::string> names = Names(job_id);
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
  const LogJob about(job_id);
  LogInfo("job {}: {} is {} {}{}", job_id, device,
          was_lost ? "back as" : "switched to",
          plan.has_value() ? WordOf(*plan) : "what is planned",
          plan.has_value() || !was_lost ? " by hand" : "");
  return devices.table().plan(index);
}

void DaemonDevices::StartAgain(const std::string& job_id, uint32_t device,
                               Deadline now) {
  for (auto& [name, daemon] : table_->daemons()) {
    if (!IsOn(daemon, job_id, device)) continue;
    daemon.restarts.budget.Renew();
    if (table_->spawn() && !daemon.process.has_value()) {
      daemon.restarts.due = now;
    }
  }
}

bool DaemonDevices::Lose(const Daemon& daemon, const std::string& why) {
  const std::string& job_id = daemon.wanted_by;
  JobSegment* const segment = table_->SegmentOf(job_id);
  if (segment == nullptr || !daemon.works_on_device() ||
      !segment->devices().Lose(daemon.number)) {
    return false;
  }
  for (auto& [name, other] : table_->daemons()) {
    if (IsOn(other, job_id, daemon.number)) other.restarts.due.reset();
  }
  const std::string& device = daemon.placement.device.name;
  const LogJob about(job_id);
  const std::vector<std::string> left = NamesLeft(job_id);
  LogWarning(
      "job {}: {} is lost, and the job goes on with {}{}: {}; once that is "
      "mended, 'fgnn switch {} auto --job {}' brings it back",
      job_id, device, absl::StrJoin(left, ", "),
      CostOfParts(segment->options(), segment->devices()), why, device, job_id);
  return true;
}

std::vector<std::string> DaemonDevices::NamesLeft(
    const std::string& job_id) const {
  std::vector<std::string> left = Names(job_id);
  const std::vector<uint32_t> lost =
      table_->SegmentOf(job_id)->devices().lost();
  for (auto device = lost.rbegin(); device != lost.rend(); ++device) {
    left.erase(left.begin() + *device);
  }
  return left;
}

}  // namespace fgnn
