// The reason why a queued job waits, in words.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/order/by_number.h"
#include "scheduler/order/job_order.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Most jobs, or devices, that a reason names.
constexpr size_t kMostNamed = 3;

// Returns text like "job A" or "jobs A, B and 2 more".
std::string NameJobs(const std::vector<std::string>& ids) {
  const size_t named = std::min(ids.size(), kMostNamed);
  std::string text =
      absl::StrCat(ids.size() == 1 ? "job " : "jobs ",
                   absl::StrJoin(ids.begin(), ids.begin() + named, ", "));
  if (ids.size() > named)
    absl::StrAppend(&text, " and ", ids.size() - named, " more");
  return text;
}

// Returns text like "next" or "behind 2 jobs: 1 of higher priority, 1 submitted
// before".
std::string PlaceInQueue(const JobWait& wait) {
  const uint32_t ahead =
      wait.of_higher_priority + wait.of_users_with_less + wait.older;
  if (ahead == 0) return "next";
  std::vector<std::string> kinds;
  const auto add = [&kinds](uint32_t count, const char* what) {
    if (count > 0) kinds.push_back(absl::StrCat(count, what));
  };
  add(wait.of_higher_priority, " of higher priority");
  add(wait.of_users_with_less, " of users who have had less");
  add(wait.older, " submitted before");
  return absl::StrCat("behind ", ahead, ahead == 1 ? " job: " : " jobs: ",
                      absl::StrJoin(kinds, ", "));
}

// Finds the jobs that keep a job from the resources of a device.
class Obstacles {
 public:
  Obstacles(const JobWait& wait, const JobOrder& order,
            const QueueSnapshot& snapshot)
      : wait_(wait), order_(order), snapshot_(snapshot) {}

  // Returns text like "which job A has"; nullopt: no job keeps it from them.
  std::optional<std::string> Of(const ServiceResources& resources) const {
    for (const RunningJob& job : snapshot_.running) {
      if ((job.devices.resources & resources).none()) continue;
      const bool leaves = job.is_leaving || order_.is_preempted(job.id);
      return absl::StrCat("which job ", job.id,
                          leaves ? " lets go of" : " has");
    }
    for (const JobWait& before : order_.waits) {
      if (&before == &wait_) break;
      const QueuedJob& job = snapshot_.queued[before.job];
      if (before.starts) {
        const auto start = std::find_if(
            order_.starts.begin(), order_.starts.end(),
            [&job](const JobStart& one) { return one.id == job.id; });
        if ((start->devices.resources & resources).any()) {
          return absl::StrCat("which job ", job.id, " starts on");
        }
      } else if ((before.reserved & resources).any()) {
        return absl::StrCat("which is kept for job ", job.id);
      }
    }
    return std::nullopt;
  }

 private:
  const JobWait& wait_;
  const JobOrder& order_;
  const QueueSnapshot& snapshot_;
};

std::string JoinSome(const std::vector<std::string>& items) {
  const size_t named = std::min(items.size(), kMostNamed);
  std::string text = absl::StrJoin(items.begin(), items.begin() + named, "; ");
  if (items.size() > named)
    absl::StrAppend(&text, "; and ", items.size() - named, " more");
  return text;
}

// Adds the lost hosts that a job waits for.
void AddAwaited(const WantedHosts& wanted, const QueueSnapshot& snapshot,
                std::vector<std::string>& items) {
  for (const size_t host : AwaitedOf(wanted, snapshot.hosts)) {
    items.push_back(
        absl::StrCat("host ", snapshot.hosts[host].name, ", lost ",
                     std::floor(snapshot.hosts[host].silent_seconds),
                     " s ago, for ", wanted.wait_seconds, " s at most"));
  }
}

// Adds the other hosts that are in the way of a job, and why.
void AddHosts(const QueuedJob& job, const Obstacles& obstacles,
              const QueueSnapshot& snapshot, std::vector<std::string>& items) {
  const WantedHosts& wanted = job.wanted.hosts;
  AddAwaited(wanted, snapshot, items);
  std::vector<std::string> busy;
  size_t num_free = 1;  // The service's own host.
  for (const size_t host : CandidatesOf(wanted, snapshot.hosts)) {
    if (!IsThere(wanted, snapshot.hosts[host])) continue;
    ServiceResources resources;
    const auto why = obstacles.Of(resources.set(ResourceOfHost(host)));
    if (why.has_value()) {
      busy.push_back(
          absl::StrCat("host ", snapshot.hosts[host].name, ", ", *why));
    } else {
      ++num_free;
    }
  }
  if (num_free < wanted.min)
    items.insert(items.end(), busy.begin(), busy.end());
  ServiceResources exchange;
  const auto why = obstacles.Of(exchange.set(kExchangeResource));
  if (wanted.min > 1 && why.has_value() && busy.empty()) {
    items.push_back(absl::StrCat("the exchange, ", *why));
  }
}

// Returns text like "waits for cpu:0, which job A has"; empty: the job waits
// for no device.
std::string WhatIsInTheWay(const QueuedJob& job, const Obstacles& obstacles,
                           const QueueSnapshot& snapshot) {
  std::vector<std::string> items;
  if (!job.wanted.by_number()) {
    for (const Device& device : job.wanted.named.devices) {
      const auto why = obstacles.Of(OwnResourcesOf(device));
      if (why.has_value()) {
        items.push_back(absl::StrCat(device.name, ", ", *why));
      }
    }
    AddHosts(job, obstacles, snapshot, items);
    return items.empty() ? "" : absl::StrCat("waits for ", JoinSome(items));
  }
  std::vector<size_t> hosts;
  for (const size_t host : CandidatesOf(job.wanted.hosts, snapshot.hosts)) {
    if (IsThere(job.wanted.hosts, snapshot.hosts[host])) hosts.push_back(host);
  }
  uint32_t num_free = 0;
  for (const FittingDevice& one :
       FittingDevices(job.wanted, snapshot.devices, snapshot.hosts, hosts)) {
    const auto why = obstacles.Of(one.resources);
    if (why.has_value()) {
      items.push_back(absl::StrCat(one.device.name, ", ", *why));
    } else {
      ++num_free;
    }
  }
  if (num_free >= job.wanted.min) {
    std::vector<std::string> awaited;
    AddAwaited(job.wanted.hosts, snapshot, awaited);
    if (!awaited.empty()) return absl::StrCat("waits for ", JoinSome(awaited));
    if (items.empty() || job.wanted.hosts.max <= 1) return "";
  }
  return absl::StrCat("waits for ", DescribeNumber(job.wanted), ", ", num_free,
                      num_free == 1 ? " is" : " are",
                      " free: ", JoinSome(items));
}

// Returns the reason of a job whose devices are free while no further job may
// run.
std::string WaitForAnEnd(const JobOrder& order, const QueueSnapshot& snapshot) {
  std::vector<std::string> ids;
  for (const RunningJob& job : snapshot.running) {
    if (job.is_leaving || order.is_preempted(job.id)) {
      return absl::StrCat("waits for job ", job.id,
                          " to let go of its devices");
    }
    ids.push_back(job.id);
  }
  for (const JobStart& start : order.starts) ids.push_back(start.id);
  return absl::StrCat("waits for ", ids.size() == 1 ? "" : "one of ",
                      NameJobs(ids), " to end: the service runs ",
                      snapshot.most_running(), " at once");
}

}  // namespace

std::string ReasonOf(const JobWait& wait, const JobOrder& order,
                     const QueueSnapshot& snapshot) {
  const QueuedJob& job = snapshot.queued[wait.job];
  if (!job.after.empty()) {
    return absl::StrCat("waits for ", NameJobs(job.after));
  }
  if (job.held_seconds > 0) {
    return absl::StrCat("held back after what went wrong, for ",
                        std::ceil(job.held_seconds), " s more");
  }
  if (absl::Status can = CheckCanHave(job.wanted, snapshot.devices);
      !can.ok()) {
    return MessageOf(can);
  }
  if (absl::Status there =
          CheckAreThere(job.wanted, snapshot.devices, snapshot.hosts);
      !there.ok()) {
    return MessageOf(there);
  }
  if (wait.starts) return "starts next";
  const std::string place = PlaceInQueue(wait);
  const std::string why =
      WhatIsInTheWay(job, Obstacles(wait, order, snapshot), snapshot);
  if (!why.empty()) return absl::StrCat(place, "; ", why);
  return absl::StrCat(place, "; ", WaitForAnEnd(order, snapshot));
}

}  // namespace fgnn
