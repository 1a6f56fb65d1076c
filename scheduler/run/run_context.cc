#include "scheduler/run/run_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

size_t IndexOf(const std::vector<HostShare>& hosts, const std::string& name) {
  return static_cast<size_t>(
      std::find_if(hosts.begin(), hosts.end(),
                   [&](const HostShare& host) { return host.name == name; }) -
      hosts.begin());
}

// Returns the places of the hosts with these indices.
uint64_t PlacesOf(const std::vector<HostShare>& hosts, size_t begin,
                  size_t end) {
  uint64_t places = 0;
  for (size_t i = begin; i < end; ++i) places += hosts[i].num_places;
  return places;
}

bool AreOf(const std::vector<HostShare>& shares,
           const std::vector<HostShare>& hosts) {
  return std::equal(shares.begin(), shares.end(), hosts.begin(), hosts.end(),
                    [](const HostShare& a, const HostShare& b) {
                      return a.name == b.name &&
                             a.num_training == b.num_training;
                    });
}

// Returns the hosts of the job. Shares by speed are those that the job has
// kept, if they are of these hosts; else no host has places yet.
std::vector<HostShare> HostsOf(const Job& job) {
  const JobSpec spec = WholeSpecOf(job);
  std::vector<HostShare> hosts = HostSharesOf(spec);
  if (hosts.size() < 2 || !spec.hosts.are_shares_by_speed()) return hosts;
  const std::vector<HostShare>& kept = job.progress.shares;
  if (AreOf(kept, hosts) &&
      PlacesOf(kept, 0, kept.size()) == spec.training.batches_per_step) {
    return kept;
  }
  for (HostShare& host : hosts) host.num_places = 0;
  return hosts;
}

ExecutorsOfJob ExecutorsFor(const Job& job, const JobSpec& spec,
                            size_t num_hosts, const ShortageClock& clock) {
  ExecutorsOfJob executors = {.job_id = job.id,
                              .spec = spec,
                              .dataset_content = job.progress.dataset_content,
                              .placements = ExecutorsOf(spec),
                              .clock = clock};
  if (num_hosts > 1) {
    executors.placements.push_back(ExchangeOn(spec.devices.front()));
  }
  return executors;
}

}  // namespace

JobSpec WholeSpecOf(const Job& job) {
  JobSpec spec = *job.spec;
  if (!job.devices.empty()) spec.devices = job.devices;
  return spec;
}

RunContext::RunContext(Job job_to_run, const JobEnvironment& of_all_jobs,
                       KeepGoing keep_going, const std::string& own_host)
    : job(std::move(job_to_run)),
      hosts(HostsOf(job)),
      self(IndexOf(hosts, own_host)),
      spec(OnHost(WholeSpecOf(job), own_host)),
      environment(of_all_jobs),
      executors(environment.host->DaemonsOf(job.id), environment.calls,
                ExecutorsFor(job, spec, hosts.size(), environment.clock),
                std::move(keep_going)) {}

std::vector<ExecutorView> RunContext::Views() const {
  std::vector<ExecutorView> views = executors.Views();
  for (const auto& [host, there] : others) {
    for (ExecutorView view : there.views) {
      view.placement.name = absl::StrCat(host, "/", view.placement.name);
      view.placement.device = OfHost(view.placement.device, host);
      views.push_back(std::move(view));
    }
  }
  return views;
}

uint32_t RunContext::restarts() const {
  uint32_t restarts = executors.restarts();
  for (const auto& [host, there] : others) restarts += there.restarts;
  return restarts;
}

uint64_t RunContext::places_before() const { return PlacesOf(hosts, 0, self); }

uint64_t RunContext::places_after() const {
  return PlacesOf(hosts, std::min(self + 1, hosts.size()), hosts.size());
}

bool RunContext::has_places() const {
  return PlacesOf(hosts, 0, hosts.size()) > 0;
}

bool RunContext::IsDue(uint32_t every, uint32_t epoch) const {
  return epoch + 1 == spec.training.epochs ||
         (every > 0 && (epoch + 1) % every == 0);
}

}  // namespace fgnn
