#include "scheduler/host/book/daemon_assignment.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

std::vector<Device> DevicesOf(
    const std::vector<ExecutorPlacement>& placements) {
  std::vector<Device> devices;
  for (const ExecutorPlacement& placement : placements) {
    if (std::find(devices.begin(), devices.end(), placement.device) ==
        devices.end()) {
      devices.push_back(placement.device);
    }
  }
  return devices;
}

std::vector<Device> DevicesOf(const std::vector<JobExecutor>& executors) {
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

void DaemonAssignment::AddJob(
    const std::string& job_id,
    const std::vector<ExecutorPlacement>& placements) {
  if (job_id.empty()) return;
  HostedJob& job = table_->jobs()[job_id];
  job.devices = DevicesOf(placements);
  job.failure = absl::OkStatus();
  job.restarts = 0;
}

std::vector<ExecutorPlacement> DaemonAssignment::OnFreeDevices(
    const std::vector<ExecutorPlacement>& placements) const {
  std::vector<Device> taken;
  for (const auto& [id, job] : table_->jobs()) {
    taken.insert(taken.end(), job.devices.begin(), job.devices.end());
  }
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.AwaitsItsJob()) taken.push_back(daemon.placement.device);
  }
  std::vector<ExecutorPlacement> free;
  for (const ExecutorPlacement& placement : placements) {
    if (!AnyShares(taken, placement.device)) free.push_back(placement);
  }
  return free;
}

std::vector<JobExecutor> DaemonAssignment::NameFor(
    const std::string& job_id,
    const std::vector<ExecutorPlacement>& placements) const {
  const std::vector<Device> devices = DevicesOf(placements);
  std::map<std::string, NamedExecutor> there;
  for (const auto& [name, daemon] : table_->daemons()) {
    // The daemon is dead, belongs to no job and is not due to start.
    if (daemon.wanted_by.empty() && !daemon.process.has_value() &&
        !daemon.restarts.due.has_value()) {
      continue;
    }
    NamedExecutor& executor = there[name];
    executor.placement = daemon.placement;
    const bool is_own = !job_id.empty() && (daemon.wanted_by == job_id ||
                                            daemon.attachment.job_id == job_id);
    if (is_own) {
      executor.number = daemon.number;
      continue;
    }
    // With an empty job id, daemons that wait for their job are left to that
    // job.
    executor.is_free = daemon.wanted_by.empty() && !daemon.stopping &&
                       (!job_id.empty() || !daemon.AwaitsItsJob());
    executor.gives_way = executor.is_free && table_->spawn() &&
                         AnyShares(devices, daemon.placement.device);
  }
  return NameExecutors(placements, there);
}

std::vector<DaemonAddress> DaemonAssignment::Dismiss(
    const std::string& job_id, const std::vector<JobExecutor>& kept) {
  const std::vector<Device> devices = DevicesOf(kept);
  return DismissWhere([&](const Daemon& daemon) {
    if (Contains(kept, daemon.placement)) return false;
    const bool is_own =
        daemon.wanted_by == job_id || daemon.attachment.job_id == job_id;
    if (!job_id.empty() && is_own) return true;
    if (!daemon.wanted_by.empty()) return false;
    // The daemon has no job. It is kept if `kept` has its name, or if its job
    // is yet to take it over.
    const bool is_to_come =
        daemon.AwaitsItsJob() || (daemon.survivor && !daemon.registered);
    if (job_id.empty()) return !is_to_come;
    return HasName(kept, daemon.placement.name) ||
           AnyShares(devices, daemon.placement.device);
  });
}

std::vector<DaemonAddress> DaemonAssignment::DismissAll() {
  return DismissWhere([](const Daemon&) { return true; });
}

// Without `spawn` a service manager started the daemons, so they are not
// stopped.
std::vector<DaemonAddress> DaemonAssignment::DismissWhere(
    const std::function<bool(const Daemon&)>& is_dismissed) {
  std::vector<DaemonAddress> to_stop;
  std::map<std::string, Daemon>& daemons = table_->daemons();
  for (auto place = daemons.begin(); place != daemons.end();) {
    Daemon& daemon = place->second;
    if (!is_dismissed(daemon)) {
      ++place;
      continue;
    }
    daemon.wanted = false;
    daemon.wanted_by.clear();
    daemon.restarts.due.reset();
    if (!daemon.process.has_value()) {
      place = daemons.erase(place);
      continue;
    }
    if (table_->spawn()) {
      daemon.stopping = true;
      to_stop.push_back(daemon.address());
    }
    ++place;
  }
  return to_stop;
}

absl::Status DaemonAssignment::Want(const std::string& job_id,
                                    const std::vector<JobExecutor>& executors,
                                    uint32_t restarts,
                                    const std::vector<uint32_t>& lost,
                                    Deadline now) {
  for (const auto& [placement, number] : executors) {
    Daemon& daemon = table_->Add(placement, restarts, now);
    if (daemon.placement != placement) {
      return absl::FailedPreconditionError(absl::StrCat(
          placement.name, " runs on ", daemon.placement.device.name,
          ", the job wants it on ", placement.device.name, "; start it there"));
    }
    daemon.wanted = true;
    daemon.wanted_by = job_id;
    daemon.number = number;
    daemon.restarts.budget = RestartBudget(restarts);
    // The daemon is attached to a job of an earlier scheduler that did not take
    // it over.
    if (!job_id.empty() && daemon.attachment.job_id != job_id) {
      daemon.attachment = {};
    }
    const bool is_lost =
        daemon.works_on_device() &&
        std::find(lost.begin(), lost.end(), number) != lost.end();
    if (!daemon.process.has_value() && table_->spawn() && !is_lost) {
      daemon.restarts.due = now;
    }
  }
  return absl::OkStatus();
}

void DaemonAssignment::Leave(const std::string& job_id) {
  table_->jobs().erase(job_id);
  std::map<std::string, Daemon>& daemons = table_->daemons();
  for (auto place = daemons.begin(); place != daemons.end();) {
    Daemon& daemon = place->second;
    const bool is_left = daemon.wanted_by == job_id;
    if (is_left) daemon.wanted_by.clear();
    // A dead daemon without a job is forgotten.
    const bool is_gone = is_left && !daemon.process.has_value();
    place = is_gone ? daemons.erase(place) : std::next(place);
  }
}

std::vector<std::string> DaemonAssignment::Unregistered(
    const std::string& job_id) const {
  std::vector<std::string> names;
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.wanted_by != job_id || daemon.registered ||
        table_->IsLost(daemon)) {
      continue;
    }
    names.push_back(absl::StrCat(name, " on ", daemon.placement.device.name));
  }
  return names;
}

}  // namespace fgnn
