#include "scheduler/host/daemon_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

bool Contains(const std::vector<ExecutorPlacement>& placements,
              const ExecutorPlacement& placement) {
  return std::find(placements.begin(), placements.end(), placement) !=
         placements.end();
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

std::vector<ExecutorView> DaemonTable::Views() const {
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : daemons_) {
    ExecutorView view;
    view.placement = daemon.placement;
    view.job_id = daemon.job_id;
    view.batches = daemon.batches;
    view.restarts = daemon.restarts;
    if (daemon.process.has_value()) {
      view.pid = daemon.process->pid();
      view.resident_bytes = daemon.resident_bytes;
      view.state = !daemon.registered         ? DaemonState::kStarting
                   : daemon.owner != kNoOwner ? StateAttached(daemon)
                                              : DaemonState::kIdle;
    }
    views.push_back(std::move(view));
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
  daemon.hang = HangWatch(hang_, now);
  if (daemon.owner == kNoOwner && !registration.job_id.empty() &&
      registration.owner >= 1 && registration.owner <= kMaxOwners) {
    daemon.job_id = registration.job_id;
    daemon.owner = registration.owner;
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
  const auto [place, is_new] = daemons_.try_emplace(
      registration.name,
      ExecutorPlacement{registration.name, role, device.name},
      LimitsSpec().restarts, hang_, now);
  Daemon& daemon = place->second;
  if (!is_new && (daemon.placement.role != role ||
                  daemon.placement.device != device.name)) {
    return absl::FailedPreconditionError(absl::StrCat(
        registration.name, " is a ", registration.role, " on ", device.name,
        ", wanted is a ", std::string(NameOf(daemon.placement.role)), " on ",
        daemon.placement.device));
  }
  daemon.process = std::move(process);
  daemon.changed = now;
  return absl::OkStatus();
}

absl::Status DaemonTable::Want(const std::vector<ExecutorPlacement>& placements,
                               uint32_t restarts, Deadline now) {
  for (const ExecutorPlacement& placement : placements) {
    Daemon& daemon =
        daemons_.try_emplace(placement.name, placement, restarts, hang_, now)
            .first->second;
    if (daemon.placement != placement) {
      return absl::FailedPreconditionError(absl::StrCat(
          placement.name, " runs on ", daemon.placement.device,
          ", the job wants it on ", placement.device, "; start it there"));
    }
    daemon.wanted = true;
    daemon.budget = RestartBudget(restarts);
    if (!daemon.process.has_value() && spawn_) {
      daemon.restart_at = now;
    }
  }
  return absl::OkStatus();
}

// Without `spawn` others started the daemons: they are left alone.
std::vector<DaemonAddress> DaemonTable::Dismiss(
    const std::vector<ExecutorPlacement>& kept) {
  std::vector<DaemonAddress> to_stop;
  for (auto place = daemons_.begin(); place != daemons_.end();) {
    Daemon& daemon = place->second;
    if (Contains(kept, daemon.placement)) {
      ++place;
      continue;
    }
    daemon.wanted = false;
    daemon.restart_at.reset();
    if (!daemon.process.has_value()) {
      place = daemons_.erase(place);
      continue;
    }
    if (spawn_) {
      daemon.stopping = true;
      to_stop.push_back(daemon.address());
    }
    ++place;
  }
  return to_stop;
}

DaemonTable::Burial DaemonTable::Bury(Daemon& daemon, Deadline now) {
  ProcessEnd end = daemon.process->Reap();
  Burial burial = {.how = std::move(end.how), .poison = {}};
  if (daemon.owner != kNoOwner && segment_ != nullptr) {
    JobSegment::Reclaimed reclaimed =
        segment_->ReclaimDead(daemon.owner, end.crashed);
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

std::vector<std::string> DaemonTable::Unregistered() const {
  std::vector<std::string> names;
  for (const auto& [name, daemon] : daemons_) {
    if (!daemon.wanted || daemon.registered) continue;
    names.push_back(absl::StrCat(name, " on ", daemon.placement.device));
  }
  return names;
}

void DaemonTable::SetSegment(JobSegment* segment) {
  segment_ = segment;
  if (segment == nullptr) return;
  for (auto& [name, daemon] : daemons_) {
    daemon.owner = kNoOwner;
    daemon.attached = false;
    daemon.job_id.clear();
  }
}

uint32_t DaemonTable::TakeOverSegment(JobSegment* segment) {
  segment_ = segment;
  std::vector<OwnerIndex> living;
  for (auto& [name, daemon] : daemons_) {
    if (daemon.owner == kNoOwner || daemon.job_id != segment->job_id()) {
      continue;
    }
    daemon.attached = true;
    living.push_back(daemon.owner);
    segment->devices().SetExecutorOf(daemon.owner, NumberOf(name).value_or(0));
  }
  return segment->ReclaimAllBut(living);
}

absl::StatusOr<int> DaemonTable::SegmentFor(pid_t peer,
                                            const std::string& job_id) const {
  if (segment_ == nullptr || segment_->job_id() != job_id) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " has no segment here"));
  }
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.process.has_value() && daemon.process->pid() == peer &&
        daemon.registered && daemon.job_id == job_id &&
        daemon.owner != kNoOwner) {
      return segment_->fd();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer, " is no daemon that job ", job_id, " is attached to"));
}

absl::StatusOr<UniqueFd> DaemonTable::ScratchFor(pid_t peer,
                                                 const std::string& job_id,
                                                 uint64_t number) const {
  FGNN_RETURN_IF_ERROR(SegmentFor(peer, job_id).status());
  return segment_->Scratch(number);
}

std::vector<DaemonAddress> DaemonTable::FindAll(ExecutorRole role,
                                                bool attached) const {
  std::vector<DaemonAddress> found;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted && daemon.registered && daemon.placement.role == role &&
        (daemon.attached || !attached)) {
      found.push_back(daemon.address());
    }
  }
  return found;
}

std::vector<std::string> DaemonTable::Attachable() const {
  std::vector<std::string> names;
  if (segment_ == nullptr) return names;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted && daemon.registered && daemon.owner == kNoOwner) {
      names.push_back(name);
    }
  }
  return names;
}

absl::StatusOr<AttachTicket> DaemonTable::BeginAttach(const std::string& name) {
  const auto place = daemons_.find(name);
  if (segment_ == nullptr || place == daemons_.end() ||
      !place->second.registered || place->second.owner != kNoOwner) {
    return absl::NotFoundError(absl::StrCat(name, " is not idle"));
  }
  Daemon& daemon = place->second;
  FGNN_ASSIGN_OR_RETURN(daemon.owner, segment_->TakeOwner());
  daemon.job_id = segment_->job_id();
  const uint32_t device = NumberOf(name).value_or(0);
  segment_->devices().SetExecutorOf(daemon.owner, device);
  return AttachTicket{daemon.address(), daemon.owner, device};
}

void DaemonTable::EndAttach(const AttachTicket& ticket) {
  Daemon* daemon = Find(ticket.daemon);
  if (daemon != nullptr && daemon->owner == ticket.owner) {
    daemon->attached = true;
  }
}

std::vector<DaemonAddress> DaemonTable::Attached() const {
  std::vector<DaemonAddress> attached;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.owner != kNoOwner) attached.push_back(daemon.address());
  }
  return attached;
}

void DaemonTable::EndDetach(const DaemonAddress& address) {
  Daemon* daemon = Find(address);
  if (daemon == nullptr || daemon->owner == kNoOwner) return;
  if (segment_ != nullptr) segment_->ReleaseOwner(daemon->owner);
  daemon->owner = kNoOwner;
  daemon->attached = false;
  daemon->job_id.clear();
}

}  // namespace fgnn
