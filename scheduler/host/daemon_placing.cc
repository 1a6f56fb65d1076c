// Of DaemonTable: which daemons are whose, and under which names.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/host/daemon_table.h"
#include "shared/config/job_spec.h"

namespace fgnn {
namespace {

std::vector<std::string> DevicesOf(
    const std::vector<ExecutorPlacement>& placements) {
  std::vector<std::string> devices;
  for (const ExecutorPlacement& placement : placements) {
    if (std::find(devices.begin(), devices.end(), placement.device) ==
        devices.end()) {
      devices.push_back(placement.device);
    }
  }
  return devices;
}

std::vector<std::string> DevicesOf(const std::vector<JobExecutor>& executors) {
  std::vector<ExecutorPlacement> placements;
  for (const JobExecutor& executor : executors) {
    placements.push_back(executor.placement);
  }
  return DevicesOf(placements);
}

bool HasName(const std::vector<JobExecutor>& executors,
             const std::string& name) {
  return std::any_of(executors.begin(), executors.end(),
                     [&](const JobExecutor& executor) {
                       return executor.placement.name == name;
                     });
}

bool Contains(const std::vector<JobExecutor>& executors,
              const ExecutorPlacement& placement) {
  return std::any_of(executors.begin(), executors.end(),
                     [&](const JobExecutor& executor) {
                       return executor.placement == placement;
                     });
}

}  // namespace

void DaemonTable::AddJob(const std::string& job_id,
                         const std::vector<ExecutorPlacement>& placements) {
  if (job_id.empty()) return;
  HostedJob& job = jobs_[job_id];
  job.devices = DevicesOf(placements);
  job.failure = absl::OkStatus();
  job.restarts = 0;
}

const HostedJob* DaemonTable::FindJob(const std::string& job_id) const {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? nullptr : &found->second;
}

HostedJob* DaemonTable::FindJob(const std::string& job_id) {
  return const_cast<HostedJob*>(std::as_const(*this).FindJob(job_id));
}

std::vector<ExecutorPlacement> DaemonTable::OnFreeDevices(
    const std::vector<ExecutorPlacement>& placements) const {
  std::vector<std::string> taken;
  for (const auto& [id, job] : jobs_) {
    taken.insert(taken.end(), job.devices.begin(), job.devices.end());
  }
  for (const auto& [name, daemon] : daemons_) {
    if (AwaitsItsJob(daemon)) taken.push_back(daemon.placement.device);
  }
  std::vector<ExecutorPlacement> free;
  for (const ExecutorPlacement& placement : placements) {
    if (!AnySharesCores(taken, placement.device)) free.push_back(placement);
  }
  return free;
}

std::vector<JobExecutor> DaemonTable::NameFor(
    const std::string& job_id,
    const std::vector<ExecutorPlacement>& placements) const {
  const std::vector<std::string> devices = DevicesOf(placements);
  std::map<std::string, NamedExecutor> there;
  for (const auto& [name, daemon] : daemons_) {
    // Dead, and nobody misses it.
    if (daemon.wanted_by.empty() && !daemon.process.has_value() &&
        !daemon.restart_at.has_value()) {
      continue;
    }
    NamedExecutor& executor = there[name];
    executor.placement = daemon.placement;
    const bool is_own = !job_id.empty() &&
                        (daemon.wanted_by == job_id || daemon.job_id == job_id);
    if (is_own) {
      executor.number = daemon.number;
      continue;
    }
    // For nobody, those that a job is to come for are left to it.
    executor.is_free = daemon.wanted_by.empty() && !daemon.stopping &&
                       (!job_id.empty() || !AwaitsItsJob(daemon));
    executor.gives_way = executor.is_free && spawn_ &&
                         AnySharesCores(devices, daemon.placement.device);
  }
  return NameExecutors(placements, there);
}

std::vector<DaemonAddress> DaemonTable::Dismiss(
    const std::string& job_id, const std::vector<JobExecutor>& kept) {
  const std::vector<std::string> devices = DevicesOf(kept);
  return DismissWhere([&](const Daemon& daemon) {
    if (Contains(kept, daemon.placement)) return false;
    const bool is_own = daemon.wanted_by == job_id || daemon.job_id == job_id;
    if (!job_id.empty() && is_own) return true;
    if (!daemon.wanted_by.empty()) return false;
    // Nobody's: kept are those that are named, and whom a job is to come for.
    const bool is_to_come =
        AwaitsItsJob(daemon) || (daemon.survivor && !daemon.registered);
    if (job_id.empty()) return !is_to_come;
    return HasName(kept, daemon.placement.name) ||
           AnySharesCores(devices, daemon.placement.device);
  });
}

std::vector<DaemonAddress> DaemonTable::DismissAll() {
  return DismissWhere([](const Daemon&) { return true; });
}

// Without `spawn` others started the daemons: they are left alone.
std::vector<DaemonAddress> DaemonTable::DismissWhere(
    const std::function<bool(const Daemon&)>& is_dismissed) {
  std::vector<DaemonAddress> to_stop;
  for (auto place = daemons_.begin(); place != daemons_.end();) {
    Daemon& daemon = place->second;
    if (!is_dismissed(daemon)) {
      ++place;
      continue;
    }
    daemon.wanted = false;
    daemon.wanted_by.clear();
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

absl::Status DaemonTable::Want(const std::string& job_id,
                               const std::vector<JobExecutor>& executors,
                               uint32_t restarts,
                               const std::vector<uint32_t>& lost,
                               Deadline now) {
  for (const auto& [placement, number] : executors) {
    Daemon& daemon =
        daemons_.try_emplace(placement.name, placement, restarts, hang_, now)
            .first->second;
    if (daemon.placement != placement) {
      return absl::FailedPreconditionError(absl::StrCat(
          placement.name, " runs on ", daemon.placement.device,
          ", the job wants it on ", placement.device, "; start it there"));
    }
    daemon.wanted = true;
    daemon.wanted_by = job_id;
    daemon.number = number;
    daemon.budget = RestartBudget(restarts);
    // Attached to a job of an earlier scheduler, which did not come for it.
    if (!job_id.empty() && daemon.job_id != job_id) {
      daemon.owner = kNoOwner;
      daemon.job_id.clear();
    }
    const bool is_lost =
        std::find(lost.begin(), lost.end(), number) != lost.end();
    if (!daemon.process.has_value() && spawn_ && !is_lost) {
      daemon.restart_at = now;
    }
  }
  return absl::OkStatus();
}

void DaemonTable::Leave(const std::string& job_id) {
  jobs_.erase(job_id);
  for (auto place = daemons_.begin(); place != daemons_.end();) {
    Daemon& daemon = place->second;
    const bool is_left = daemon.wanted_by == job_id;
    if (is_left) daemon.wanted_by.clear();
    // Nobody needs it now.
    const bool is_gone = is_left && !daemon.process.has_value();
    place = is_gone ? daemons_.erase(place) : std::next(place);
  }
}

std::vector<std::string> DaemonTable::Unregistered(
    const std::string& job_id) const {
  std::vector<std::string> names;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted_by != job_id || daemon.registered || IsLost(daemon)) {
      continue;
    }
    names.push_back(absl::StrCat(name, " on ", daemon.placement.device));
  }
  return names;
}

Daemon& DaemonTable::TakePlace(const ExecutorPlacement& placement,
                               Deadline now) {
  const auto suits = [&](const Daemon& daemon) {
    return daemon.placement.role == placement.role &&
           daemon.placement.device == placement.device;
  };
  const auto named = daemons_.find(placement.name);
  if (named != daemons_.end() && suits(named->second)) return named->second;
  if (named != daemons_.end() && named->second.wanted_by.empty()) {
    daemons_.erase(named);
  } else if (named != daemons_.end()) {
    // A job expects another one under this name, and now under another name.
    auto node = daemons_.extract(named);
    uint32_t number = 0;
    const auto name_of = [&](uint32_t n) {
      return absl::StrCat(std::string(NameOf(node.mapped().placement.role)),
                          ".", n);
    };
    while (daemons_.contains(name_of(number)) ||
           name_of(number) == placement.name) {
      ++number;
    }
    node.key() = name_of(number);
    node.mapped().placement.name = node.key();
    daemons_.insert(std::move(node));
  }
  Daemon daemon(placement, LimitsSpec().restarts, hang_, now);
  for (auto place = daemons_.begin(); place != daemons_.end(); ++place) {
    Daemon& expected = place->second;
    if (expected.process.has_value() || expected.wanted_by.empty() ||
        !suits(expected)) {
      continue;
    }
    daemon.wanted = true;
    daemon.wanted_by = expected.wanted_by;
    daemon.number = expected.number;
    daemon.budget = expected.budget;
    daemon.restarts = expected.restarts;
    daemons_.erase(place);
    break;
  }
  return daemons_.try_emplace(placement.name, std::move(daemon)).first->second;
}

}  // namespace fgnn
