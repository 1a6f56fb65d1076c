#include "scheduler/host/book/daemon_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kWrongUse = 2;  // See DaemonExitCode().

bool Suits(const Daemon& daemon, const ExecutorPlacement& placement) {
  return daemon.placement.role == placement.role &&
         daemon.placement.device == placement.device;
}

}  // namespace

const Daemon* DaemonTable::Find(const DaemonAddress& address) const {
  const auto found = daemons_.find(address.name);
  if (found == daemons_.end() || !found->second.process.has_value() ||
      found->second.process->pid() != address.pid) {
    return nullptr;
  }
  return &found->second;
}

Daemon* DaemonTable::Find(const DaemonAddress& address) {
  return const_cast<Daemon*>(std::as_const(*this).Find(address));
}

Daemon& DaemonTable::Add(const ExecutorPlacement& placement,
                         uint32_t restart_limit, Deadline now) {
  return daemons_
      .try_emplace(placement.name, placement, restart_limit, hang_, now)
      .first->second;
}

const HostedJob* DaemonTable::FindJob(const std::string& job_id) const {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? nullptr : &found->second;
}

HostedJob* DaemonTable::FindJob(const std::string& job_id) {
  return const_cast<HostedJob*>(std::as_const(*this).FindJob(job_id));
}

JobSegment* DaemonTable::SegmentOf(const std::string& job_id) const {
  const HostedJob* const job = FindJob(job_id);
  return job == nullptr ? nullptr : job->segment;
}

bool DaemonTable::IsLost(const Daemon& daemon) const {
  JobSegment* const segment = SegmentOf(daemon.wanted_by);
  return segment != nullptr && daemon.works_on_device() &&
         segment->devices().IsLost(daemon.number);
}

absl::Status DaemonTable::Register(const DaemonRegistration& registration,
                                   Deadline now) {
  const auto found = daemons_.find(registration.name);
  const bool known =
      found != daemons_.end() && found->second.process.has_value() &&
      found->second.process->pid() == registration.pid &&
      found->second.process->start_time() == registration.start_time;
  if (!known) FGNN_RETURN_IF_ERROR(Adopt(registration, now));
  Daemon& daemon = daemons_.at(registration.name);
  if (daemon.survivor) FGNN_RETURN_IF_ERROR(Place(daemon, registration));
  daemon.registered = true;
  daemon.socket = registration.socket_path;
  daemon.health.silence = HangWatch(hang_, now);
  daemon.health.standstill = HangWatch(work_loop_, now);
  daemon.health.working = false;
  daemon.health.progress = 0;
  if (daemon.attachment.owner == kNoOwner && !registration.job_id.empty() &&
      IsDaemon(registration.owner)) {
    daemon.attachment.job_id = registration.job_id;
    daemon.attachment.owner = registration.owner;
    daemon.number = registration.number;
  }
  const LogJob about(daemon.job());
  LogInfo("{} on {} is there, pid {}", registration.name,
          registration.device.name, registration.pid);
  return absl::OkStatus();
}

absl::Status DaemonTable::Place(Daemon& daemon,
                                const DaemonRegistration& registration) {
  FGNN_ASSIGN_OR_RETURN(daemon.placement.role, ParseRole(registration.role));
  daemon.placement.device = registration.device;
  return absl::OkStatus();
}

void DaemonTable::Expect(LeftoverDaemon left, Deadline now) {
  ExecutorPlacement placement;
  placement.name = left.name;
  Daemon& daemon = Add(placement, LimitsSpec().restarts, now);
  daemon.process = std::move(left.process);
  daemon.survivor = true;
}

bool DaemonTable::ExpectsSurvivors() const {
  return std::any_of(daemons_.begin(), daemons_.end(), [](const auto& entry) {
    const Daemon& daemon = entry.second;
    return daemon.survivor && daemon.process.has_value() && !daemon.registered;
  });
}

// Takes over a daemon that this scheduler did not start.
absl::Status DaemonTable::Adopt(const DaemonRegistration& registration,
                                Deadline now) {
  if (spawn_) {
    return absl::FailedPreconditionError(absl::StrCat(
        registration.name, " (pid ", registration.pid,
        "): this service starts its daemons itself; run the scheduler without "
        "--spawn-daemons to start them otherwise"));
  }
  FGNN_ASSIGN_OR_RETURN(const ExecutorRole role, ParseRole(registration.role));
  const auto found = daemons_.find(registration.name);
  if (found != daemons_.end() && found->second.process.has_value()) {
    if (found->second.process->HasEnded()) {
      return absl::UnavailableError(absl::StrCat(
          registration.name, ": the daemon before it is not buried yet"));
    }
    return absl::AlreadyExistsError(absl::StrCat(registration.name,
                                                 " runs already, pid ",
                                                 found->second.process->pid()));
  }
  FGNN_ASSIGN_OR_RETURN(
      DaemonProcess process,
      DaemonProcess::Adopt(registration.pid, registration.start_time));
  Daemon& daemon =
      TakePlace({registration.name, role, registration.device}, now);
  daemon.process = std::move(process);
  daemon.changed = now;
  return absl::OkStatus();
}

Daemon& DaemonTable::TakePlace(const ExecutorPlacement& placement,
                               Deadline now) {
  const auto named = daemons_.find(placement.name);
  if (named != daemons_.end()) {
    if (Suits(named->second, placement)) return named->second;
    if (named->second.wanted_by.empty()) {
      daemons_.erase(named);
    } else {
      GiveAnotherName(placement.name);
    }
  }
  Daemon daemon(placement, LimitsSpec().restarts, hang_, now);
  for (auto place = daemons_.begin(); place != daemons_.end(); ++place) {
    Daemon& expected = place->second;
    if (expected.process.has_value() || expected.wanted_by.empty() ||
        !Suits(expected, placement)) {
      continue;
    }
    daemon.wanted = true;
    daemon.wanted_by = expected.wanted_by;
    daemon.number = expected.number;
    daemon.restarts.budget = expected.restarts.budget;
    daemon.restarts.count = expected.restarts.count;
    daemons_.erase(place);
    break;
  }
  return daemons_.try_emplace(placement.name, std::move(daemon)).first->second;
}

void DaemonTable::GiveAnotherName(const std::string& name) {
  auto node = daemons_.extract(name);
  uint32_t number = 0;
  const auto name_of = [&](uint32_t n) {
    return absl::StrCat(std::string(NameOf(node.mapped().placement.role)), ".",
                        n);
  };
  while (daemons_.contains(name_of(number)) || name_of(number) == name) {
    ++number;
  }
  node.key() = name_of(number);
  node.mapped().placement.name = node.key();
  daemons_.insert(std::move(node));
}

DaemonTable::Burial DaemonTable::Bury(Daemon& daemon, Deadline now) {
  ProcessEnd end = daemon.process->Reap();
  Burial burial = {.how = std::move(end.how),
                   .failure = std::exchange(daemon.failure, absl::OkStatus()),
                   .refused = !daemon.registered && end.exit_code == kWrongUse,
                   .poison = {}};
  if (!daemon.killed_for.empty()) {
    absl::StrAppend(&burial.how, ", because it ",
                    std::exchange(daemon.killed_for, ""));
  } else if (!end.for_memory.empty()) {
    absl::StrAppend(&burial.how, ", ", end.for_memory);
    burial.for_memory = true;
  }
  JobSegment* const segment = SegmentOf(daemon.attachment.job_id);
  if (daemon.attachment.owner != kNoOwner && segment != nullptr) {
    JobSegment::Reclaimed reclaimed =
        segment->ReclaimDead(daemon.attachment.owner, end.crashed);
    burial.poison = std::move(reclaimed.poison);
    LogInfo("gave back {} slots{}{} of {} (pid {})", reclaimed.slots,
            reclaimed.chunks > 0
                ? absl::StrCat(", ", reclaimed.chunks, " chunks of table ",
                               segment->cache_plan().table)
                : "",
            reclaimed.lease ? " and the lease of a step" : "",
            daemon.placement.name, daemon.process->pid());
  }
  daemon.process.reset();
  daemon.survivor = false;
  daemon.registered = false;
  daemon.attachment = {};
  daemon.changed = now;
  return burial;
}

void DaemonTable::Forget(const std::vector<DaemonAddress>& daemons) {
  for (const DaemonAddress& daemon : daemons) {
    const auto place = daemons_.find(daemon.name);
    if (place != daemons_.end() && !place->second.process.has_value()) {
      daemons_.erase(place);
    }
  }
}

}  // namespace fgnn
