#include "scheduler/order/device_ledger.h"

#include <algorithm>
#include <tuple>

#include "scheduler/order/fewest.h"

namespace fgnn {
namespace {

constexpr int kNobody = -1;

ServiceResources OfHost(size_t host) {
  ServiceResources resources;
  resources.set(kExchangeResource);
  return resources.set(ResourceOfHost(host));
}

}  // namespace

DeviceLedger::DeviceLedger(const QueueSnapshot& snapshot)
    : snapshot_(snapshot),
      holder_of_(ServiceResources().size(), kNobody),
      lent_for_(ServiceResources().size(), kNoLimit) {
  for (const RunningJob& job : snapshot.running) {
    ForEachResource(job.devices.resources, [this](size_t resource) {
      holder_of_[resource] = static_cast<int>(holders_.size());
    });
    held_ |= job.devices.resources;
    holders_.push_back({.most_seconds = job.most_seconds,
                        .priority = job.priority,
                        .can_be_preempted = job.can_be_preempted,
                        .is_leaving = job.is_leaving,
                        .started = job.started});
  }
}

bool DeviceLedger::IsHostFree(size_t host, const ServiceResources& has) const {
  const ServiceResources lacks = OfHost(host) & ~has;
  return IsFree(lacks) && !IsReserved(lacks);
}

ServiceResources DeviceLedger::LeastOf(const WantedDevices& wanted) const {
  ServiceResources resources = wanted.named.resources;
  struct Choice {
    bool is_lost = false;
    bool is_reserved = false;
    bool is_soon = false;
    double free_in = 0;
    size_t place = 0;
    size_t host = 0;
  };
  std::vector<Choice> choices;
  for (const size_t host : CandidatesOf(wanted.hosts, snapshot_.hosts)) {
    ServiceResources of_host;
    of_host.set(ResourceOfHost(host));
    const bool is_soon = HoldersOf(of_host).empty();
    choices.push_back({!IsThere(wanted.hosts, snapshot_.hosts[host]),
                       IsReserved(of_host), !is_soon,
                       is_soon ? 0 : FreeIn(of_host), choices.size(), host});
  }
  std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
    return std::tie(a.is_lost, a.is_reserved, a.is_soon, a.free_in, a.place) <
           std::tie(b.is_lost, b.is_reserved, b.is_soon, b.free_in, b.place);
  });
  for (size_t i = 0; i + 1 < wanted.hosts.min && i < choices.size(); ++i) {
    resources |= OfHost(choices[i].host);
  }
  return resources;
}

std::vector<size_t> DeviceLedger::FindMoreHosts(const WantedHosts& wanted,
                                                const ServiceResources& has,
                                                size_t most) const {
  std::vector<size_t> more;
  for (const size_t host : CandidatesOf(wanted, snapshot_.hosts)) {
    if (more.size() == most) break;
    if (!has[ResourceOfHost(host)] && IsThere(wanted, snapshot_.hosts[host]) &&
        IsHostFree(host, has)) {
      more.push_back(host);
    }
  }
  return more;
}

DeviceSet DeviceLedger::DevicesFor(const WantedDevices& wanted,
                                   const ServiceResources& resources) const {
  DeviceSet set = {.devices = wanted.named.devices, .resources = resources};
  std::vector<size_t> hosts;
  for (const size_t host : CandidatesOf(wanted.hosts, snapshot_.hosts)) {
    if (resources[ResourceOfHost(host)]) hosts.push_back(host);
  }
  const size_t has = hosts.size() + 1;
  const size_t most = wanted.hosts.max > has ? wanted.hosts.max - has : 0;
  for (const size_t host : FindMoreHosts(wanted.hosts, resources, most)) {
    hosts.push_back(host);
  }
  for (const size_t host : hosts) {
    set.resources |= OfHost(host);
    for (Device& device : DevicesOn(wanted.hosts, snapshot_.hosts[host])) {
      set.devices.push_back(std::move(device));
    }
  }
  return set;
}

bool DeviceLedger::MayBorrow(const ServiceResources& resources,
                             double seconds) const {
  bool may = true;
  ForEachResource(resources & reserved_, [&](size_t resource) {
    may = may && seconds <= lent_for_[resource];
  });
  return may;
}

std::optional<DeviceSet> DeviceLedger::FindStart(const QueuedJob& job) const {
  if (holders_.size() >= snapshot_.most_running()) return std::nullopt;
  const WantedDevices& wanted = job.wanted;
  if (!wanted.by_number()) {
    if (!AwaitedOf(wanted.hosts, snapshot_.hosts).empty()) return std::nullopt;
    const ServiceResources resources = LeastOf(wanted);
    if (!IsFree(resources) || !MayBorrow(resources, job.most_seconds)) {
      return std::nullopt;
    }
    return DevicesFor(wanted, resources);
  }
  std::vector<const ServiceDevice*> own;  // Devices that no job has reserved.
  // Reserved devices that the job may borrow; used to reach `min` only.
  std::vector<const ServiceDevice*> borrowed;
  for (const ServiceDevice& device : snapshot_.devices) {
    if (!wanted.fits(device) || !IsFree(device.resources)) continue;
    if (!IsReserved(device.resources)) {
      if (own.size() < wanted.max) own.push_back(&device);
    } else if (MayBorrow(device.resources, job.most_seconds)) {
      borrowed.push_back(&device);
    }
  }
  for (size_t i = 0; own.size() < wanted.min && i < borrowed.size(); ++i) {
    own.push_back(borrowed[i]);
  }
  if (own.size() < wanted.min) return std::nullopt;
  DeviceSet devices;
  for (const ServiceDevice* device : own) {
    devices.devices.push_back(device->device);
    devices.resources |= device->resources;
  }
  return devices;
}

void DeviceLedger::Start(const QueuedJob& job, const DeviceSet& devices) {
  ForEachResource(devices.resources, [this](size_t resource) {
    holder_of_[resource] = static_cast<int>(holders_.size());
  });
  held_ |= devices.resources;
  holders_.push_back({.most_seconds = job.most_seconds});
}

double DeviceLedger::FreeIn(const ServiceResources& resources) const {
  double seconds = 0;
  ForEachResource(resources & held_, [&](size_t resource) {
    const Holder& holder = holders_[static_cast<size_t>(holder_of_[resource])];
    seconds =
        std::max(seconds, holder.is_leaving ? kNoLimit : holder.most_seconds);
  });
  // The resources are not free before the jobs that have reserved them start.
  ForEachResource(resources & reserved_, [&](size_t resource) {
    seconds = std::max(
        seconds, lent_for_[resource] > 0 ? lent_for_[resource] : kNoLimit);
  });
  return seconds;
}

std::vector<size_t> DeviceLedger::HoldersOf(
    const ServiceResources& resources) const {
  std::vector<size_t> holders;
  ForEachResource(resources & held_, [&](size_t resource) {
    const auto holder = static_cast<size_t>(holder_of_[resource]);
    if (!holders_[holder].is_leaving &&
        std::find(holders.begin(), holders.end(), holder) == holders.end()) {
      holders.push_back(holder);
    }
  });
  return holders;
}

// For a demand by number, devices that are not reserved are chosen, those first
// that are free, about to be free, or promised first. Other devices, whose
// holders have no time limit, may come free earlier and let the job start. So
// the job lends what it has reserved no longer than until then.
DeviceLedger::Reservation DeviceLedger::ChooseToReserve(
    const WantedDevices& wanted) const {
  if (!wanted.by_number()) {
    const ServiceResources resources = LeastOf(wanted);
    const double free_in = FreeIn(resources);
    // It may start as soon as a host is back.
    const bool may_lend =
        free_in != kNoLimit && AwaitedOf(wanted.hosts, snapshot_.hosts).empty();
    return {resources, may_lend ? free_in : 0};
  }
  struct Choice {
    bool is_reserved = false;
    double free_in = 0;
    size_t place = 0;
  };
  std::vector<Choice> choices;
  for (size_t i = 0; i < snapshot_.devices.size(); ++i) {
    const ServiceDevice& device = snapshot_.devices[i];
    if (!wanted.fits(device)) continue;
    const bool is_soon = HoldersOf(device.resources).empty();
    choices.push_back({IsReserved(device.resources),
                       is_soon ? 0 : FreeIn(device.resources), i});
  }
  std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
    return std::tie(a.is_reserved, a.free_in, a.place) <
           std::tie(b.is_reserved, b.free_in, b.place);
  });
  Reservation chosen;
  bool is_promised = true;
  std::vector<double> may_be_free_in;
  for (size_t i = 0; i < choices.size(); ++i) {
    const ServiceResources& resources =
        snapshot_.devices[choices[i].place].resources;
    const double free_in = FreeIn(resources);
    may_be_free_in.push_back(free_in == kNoLimit ? 0 : free_in);
    if (i >= wanted.min) continue;
    chosen.resources |= resources;
    is_promised &= free_in != kNoLimit;
  }
  if (!is_promised) return chosen;
  std::sort(may_be_free_in.begin(), may_be_free_in.end());
  chosen.lends_for = may_be_free_in[wanted.min - 1];
  return chosen;
}

DeviceLedger::Reservation DeviceLedger::Reserve(const QueuedJob& job) {
  const Reservation made = ChooseToReserve(job.wanted);
  ReserveResources(made);
  return made;
}

void DeviceLedger::ReserveResources(const Reservation& reservation) {
  reserved_ |= reservation.resources;
  ForEachResource(reservation.resources, [&](size_t resource) {
    lent_for_[resource] = std::min(lent_for_[resource], reservation.lends_for);
  });
}

std::optional<std::vector<size_t>> DeviceLedger::FindPreempted(
    const QueuedJob& job) const {
  if (!AwaitedOf(job.wanted.hosts, snapshot_.hosts).empty()) {
    return std::nullopt;
  }
  // Holders that may be preempted, in the order in which they would be chosen.
  std::vector<size_t> candidates;
  bool any_leaves = false;
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& holder = holders_[i];
    any_leaves |= holder.is_leaving;
    if (holder.can_be_preempted && !holder.is_leaving &&
        holder.priority < job.priority) {
      candidates.push_back(i);
    }
  }
  if (candidates.empty() && !any_leaves) return std::nullopt;
  std::sort(candidates.begin(), candidates.end(), [this](size_t a, size_t b) {
    return std::make_tuple(holders_[a].priority, holders_[b].started) <
           std::make_tuple(holders_[b].priority, holders_[a].started);
  });
  std::vector<size_t> candidate_of(holders_.size(), candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    candidate_of[candidates[i]] = i;

  // Device sets that have to come free; each is a list of candidates that hold
  // it.
  std::vector<std::vector<size_t>> targets;
  size_t need = job.wanted.by_number() ? job.wanted.min : 1;
  const auto add = [&](const ServiceResources& resources) {
    if (IsReserved(resources)) return;
    std::vector<size_t> holders = HoldersOf(resources);
    if (holders.empty()) {
      if (need > 0) --need;
      return;
    }
    for (size_t& holder : holders) holder = candidate_of[holder];
    if (std::find(holders.begin(), holders.end(), candidates.size()) ==
        holders.end()) {
      targets.push_back(std::move(holders));
    }
  };
  if (job.wanted.by_number()) {
    for (const ServiceDevice& device : snapshot_.devices) {
      if (job.wanted.fits(device)) add(device.resources);
    }
  } else {
    add(LeastOf(job.wanted));
  }
  // The job would run beside the holders that stay and the promised jobs.
  const auto staying = static_cast<size_t>(
      std::count_if(holders_.begin(), holders_.end(),
                    [](const Holder& holder) { return !holder.is_leaving; }));
  const size_t would_run = staying + promised_ + 1;
  const size_t most = snapshot_.most_running();
  std::optional<std::vector<size_t>> chosen =
      ChooseFewest(targets, candidates.size(), need,
                   would_run > most ? would_run - most : 0);
  if (chosen.has_value()) {
    for (size_t& one : *chosen) one = candidates[one];
  }
  return chosen;
}

void DeviceLedger::Preempt(const std::vector<size_t>& running) {
  for (const size_t one : running) holders_[one].is_leaving = true;
  ++promised_;
}

std::vector<size_t> DeviceLedger::FindWhoGrows() {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < snapshot_.running.size(); ++i) {
    const RunningJob& job = snapshot_.running[i];
    if (job.gains_by_more && !holders_[i].is_leaving) candidates.push_back(i);
  }
  std::sort(candidates.begin(), candidates.end(), [this](size_t a, size_t b) {
    return std::make_tuple(-int64_t{holders_[a].priority},
                           holders_[a].started) <
           std::make_tuple(-int64_t{holders_[b].priority}, holders_[b].started);
  });
  std::vector<size_t> grow;
  for (const size_t candidate : candidates) {
    const RunningJob& job = snapshot_.running[candidate];
    if (!job.wanted.by_number()) {
      const size_t num_hosts = CountHosts(job.devices.devices);
      const size_t most = job.wanted.hosts.max > num_hosts
                              ? job.wanted.hosts.max - num_hosts
                              : 0;
      const std::vector<size_t> more =
          FindMoreHosts(job.wanted.hosts, job.devices.resources, most);
      for (const size_t host : more) {
        ReserveResources({.resources = OfHost(host)});
      }
      if (!more.empty()) grow.push_back(candidate);
      continue;
    }
    const size_t has = job.devices.devices.size();
    size_t gets = 0;
    for (const ServiceDevice& device : snapshot_.devices) {
      if (has + gets >= job.wanted.max) break;
      if (!job.wanted.fits(device) || !IsFree(device.resources) ||
          IsReserved(device.resources)) {
        continue;
      }
      ReserveResources({.resources = device.resources});
      ++gets;
    }
    if (gets > 0) grow.push_back(candidate);
  }
  return grow;
}

}  // namespace fgnn
