#include "scheduler/host/daemon_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/telemetry/log.h"

namespace fgnn {
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

ExecutorView DaemonTable::ViewOf(const Daemon& daemon) const {
  ExecutorView view;
  view.placement = daemon.placement;
  view.job_id = daemon.job_id;
  view.batches = daemon.batches;
  view.restarts = daemon.restarts;
  if (IsLost(daemon)) view.state = DaemonState::kLost;
  if (!daemon.process.has_value()) return view;
  view.pid = daemon.process->pid();
  view.resident_bytes = daemon.resident_bytes;
  if (view.state == DaemonState::kLost) return view;
  view.state = !daemon.registered         ? DaemonState::kStarting
               : daemon.owner != kNoOwner ? StateAttached(daemon)
                                          : DaemonState::kIdle;
  return view;
}

std::vector<ExecutorView> DaemonTable::Views() const {
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : daemons_) views.push_back(ViewOf(daemon));
  return views;
}

std::vector<ExecutorView> DaemonTable::ViewsOf(
    const std::string& job_id) const {
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by == job_id) views.push_back(ViewOf(daemon));
  }
  return views;
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
  daemon.silence = HangWatch(hang_, now);
  daemon.standstill = HangWatch(work_loop_, now);
  daemon.working = false;
  daemon.turns = 0;
  if (daemon.owner == kNoOwner && !registration.job_id.empty() &&
      registration.owner >= 1 && registration.owner <= kMaxOwners) {
    daemon.job_id = registration.job_id;
    daemon.owner = registration.owner;
    daemon.number = registration.number;
  }
  LogInfo("{} on {} is there, pid {}", registration.name, registration.device,
          registration.pid);
  return absl::OkStatus();
}

absl::Status DaemonTable::Place(Daemon& daemon,
                                const DaemonRegistration& registration) {
  FGNN_ASSIGN_OR_RETURN(daemon.placement.role, ParseRole(registration.role));
  FGNN_ASSIGN_OR_RETURN(const Device device,
                        ParseDeviceName(registration.device));
  daemon.placement.device = device.name;
  return absl::OkStatus();
}

void DaemonTable::Expect(LeftoverDaemon left, Deadline now) {
  ExecutorPlacement placement;
  placement.name = left.name;
  Daemon& daemon =
      daemons_
          .try_emplace(left.name, placement, LimitsSpec().restarts, hang_, now)
          .first->second;
  daemon.process = std::move(left.process);
  daemon.survivor = true;
}

bool DaemonTable::ExpectsSurvivors() const {
  return std::any_of(daemons_.begin(), daemons_.end(), [](const auto& entry) {
    const Daemon& daemon = entry.second;
    return daemon.survivor && daemon.process.has_value() && !daemon.registered;
  });
}

// A daemon that this scheduler did not start.
absl::Status DaemonTable::Adopt(const DaemonRegistration& registration,
                                Deadline now) {
  if (spawn_) {
    return absl::FailedPreconditionError(absl::StrCat(
        registration.name, " (pid ", registration.pid,
        "): this service starts its daemons itself; run the scheduler without "
        "--spawn-daemons to start them otherwise"));
  }
  FGNN_ASSIGN_OR_RETURN(const ExecutorRole role, ParseRole(registration.role));
  FGNN_ASSIGN_OR_RETURN(const Device device,
                        ParseDeviceName(registration.device));
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
  Daemon& daemon = TakePlace({registration.name, role, device.name}, now);
  daemon.process = std::move(process);
  daemon.changed = now;
  return absl::OkStatus();
}

DaemonTable::Burial DaemonTable::Bury(Daemon& daemon, Deadline now) {
  ProcessEnd end = daemon.process->Reap();
  Burial burial = {.how = std::move(end.how), .poison = {}};
  if (!daemon.killed_for.empty()) {
    absl::StrAppend(&burial.how, ", because it ",
                    std::exchange(daemon.killed_for, ""));
  }
  JobSegment* const segment = SegmentOf(daemon.job_id);
  if (daemon.owner != kNoOwner && segment != nullptr) {
    JobSegment::Reclaimed reclaimed =
        segment->ReclaimDead(daemon.owner, end.crashed);
    burial.poison = std::move(reclaimed.poison);
    LogInfo("gave back {} slots{} of {} (pid {})", reclaimed.slots,
            reclaimed.lease ? " and the lease of a step" : "",
            daemon.placement.name, daemon.process->pid());
  }
  daemon.process.reset();
  daemon.survivor = false;
  daemon.registered = false;
  daemon.attached = false;
  daemon.owner = kNoOwner;
  daemon.job_id.clear();
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

void DaemonTable::OpenSegment(JobSegment* segment) {
  const std::string& job_id = segment->job_id();
  jobs_[job_id].segment = segment;
  for (auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by != job_id) continue;
    daemon.owner = kNoOwner;
    daemon.attached = false;
    daemon.job_id.clear();
  }
}

uint32_t DaemonTable::TakeOverSegment(JobSegment* segment) {
  const std::string& job_id = segment->job_id();
  jobs_[job_id].segment = segment;
  std::vector<OwnerIndex> living;
  for (auto& [name, daemon] : daemons_) {
    if (daemon.owner == kNoOwner || daemon.job_id != job_id) continue;
    daemon.attached = true;
    living.push_back(daemon.owner);
    segment->devices().SetExecutorOf(daemon.owner, daemon.number);
  }
  return segment->ReclaimAllBut(living);
}

void DaemonTable::CloseSegment(const std::string& job_id) {
  if (HostedJob* job = FindJob(job_id); job != nullptr) job->segment = nullptr;
}

JobSegment* DaemonTable::SegmentOf(const std::string& job_id) const {
  const HostedJob* const job = FindJob(job_id);
  return job == nullptr ? nullptr : job->segment;
}

absl::StatusOr<int> DaemonTable::SegmentFor(pid_t peer,
                                            const std::string& job_id) const {
  const JobSegment* const segment = SegmentOf(job_id);
  if (segment == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " has no segment here"));
  }
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.process.has_value() && daemon.process->pid() == peer &&
        daemon.registered && daemon.job_id == job_id &&
        daemon.owner != kNoOwner) {
      return segment->fd();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer, " is no daemon that job ", job_id, " is attached to"));
}

absl::StatusOr<UniqueFd> DaemonTable::ScratchFor(pid_t peer,
                                                 const std::string& job_id,
                                                 uint64_t number) const {
  FGNN_RETURN_IF_ERROR(SegmentFor(peer, job_id).status());
  return SegmentOf(job_id)->Scratch(number);
}

std::vector<DaemonAddress> DaemonTable::FindAll(const std::string& job_id,
                                                ExecutorRole role,
                                                bool attached) const {
  std::vector<DaemonAddress> found;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by == job_id && daemon.registered &&
        daemon.placement.role == role && (daemon.attached || !attached) &&
        !IsLost(daemon)) {
      found.push_back(daemon.address());
    }
  }
  return found;
}

std::vector<std::string> DaemonTable::Attachable(
    const std::string& job_id) const {
  std::vector<std::string> names;
  if (SegmentOf(job_id) == nullptr) return names;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by == job_id && daemon.registered &&
        daemon.owner == kNoOwner && !IsLost(daemon)) {
      names.push_back(name);
    }
  }
  return names;
}

absl::StatusOr<AttachTicket> DaemonTable::BeginAttach(const std::string& job_id,
                                                      const std::string& name) {
  JobSegment* const segment = SegmentOf(job_id);
  const auto place = daemons_.find(name);
  if (segment == nullptr || place == daemons_.end() ||
      place->second.wanted_by != job_id || !place->second.registered ||
      place->second.owner != kNoOwner || IsLost(place->second)) {
    return absl::NotFoundError(
        absl::StrCat(name, " is not idle for job ", job_id));
  }
  Daemon& daemon = place->second;
  FGNN_ASSIGN_OR_RETURN(daemon.owner, segment->TakeOwner());
  daemon.job_id = job_id;
  segment->devices().SetExecutorOf(daemon.owner, daemon.number);
  return AttachTicket{daemon.address(), daemon.owner, daemon.placement.role,
                      daemon.number};
}

void DaemonTable::EndAttach(const AttachTicket& ticket) {
  Daemon* daemon = Find(ticket.daemon);
  if (daemon != nullptr && daemon->owner == ticket.owner) {
    daemon->attached = true;
  }
}

std::vector<DaemonAddress> DaemonTable::Attached(
    const std::string& job_id) const {
  std::vector<DaemonAddress> attached;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.owner != kNoOwner && daemon.job_id == job_id) {
      attached.push_back(daemon.address());
    }
  }
  return attached;
}

void DaemonTable::EndDetach(const DaemonAddress& address) {
  Daemon* daemon = Find(address);
  if (daemon == nullptr || daemon->owner == kNoOwner) return;
  JobSegment* const segment = SegmentOf(daemon->job_id);
  if (segment != nullptr) segment->ReleaseOwner(daemon->owner);
  daemon->owner = kNoOwner;
  daemon->attached = false;
  daemon->job_id.clear();
}

}  // namespace fgnn
