#include "scheduler/order/device_ledger.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/order/fewest.h"

namespace fgnn {
namespace {

constexpr int kNobody = -1;

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
  const ServiceResources lacks = ResourcesOfHost(host) & ~has;
  return IsFree(lacks) && !IsReserved(lacks);
}

std::vector<size_t> DeviceLedger::SoonestHosts(
    const WantedHosts& wanted, const ServiceResources& has) const {
  // Whether it is lost, another job's or free, reserved, and late; when it
  // comes free.
  using Key = std::tuple<bool, bool, bool, bool, double, size_t>;
  std::vector<std::pair<Key, size_t>> choices;
  for (const size_t host : CandidatesOf(wanted, snapshot_.hosts)) {
    ServiceResources of_host;
    of_host.set(ResourceOfHost(host));
    const bool is_late = !HoldersOf(of_host).empty();
    const Key key = {!IsThere(wanted, snapshot_.hosts[host]),
                     !has[ResourceOfHost(host)],
                     IsReserved(of_host),
                     is_late,
                     is_late ? FreeIn(of_host) : 0,
                     choices.size()};
    choices.emplace_back(key, host);
  }
  std::sort(choices.begin(), choices.end());
  std::vector<size_t> hosts;
  for (const auto& [key, host] : choices) hosts.push_back(host);
  return hosts;
}

ServiceResources DeviceLedger::LeastOf(const WantedDevices& wanted) const {
  ServiceResources resources = wanted.named.resources;
  const std::vector<size_t> hosts = SoonestHosts(wanted.hosts);
  for (size_t i = 0; i + 1 < wanted.hosts.min && i < hosts.size(); ++i) {
    resources |= ResourcesOfHost(hosts[i]);
  }
  return resources;
}

std::vector<FittingDevice> DeviceLedger::FittingOf(
    const WantedDevices& wanted, const ServiceResources& has) const {
  std::vector<size_t> hosts = SoonestHosts(wanted.hosts, has);
  std::erase_if(hosts, [&](size_t host) {
    return !IsThere(wanted.hosts, snapshot_.hosts[host]);
  });
  hosts.resize(std::min<size_t>(hosts.size(), wanted.hosts.max - 1));
  return FittingDevices(wanted, snapshot_.devices, snapshot_.hosts, hosts);
}

std::optional<DeviceSet> DeviceLedger::FindByNumber(
    const QueuedJob& job) const {
  const std::vector<FittingDevice> fitting = FittingOf(job.wanted);
  const auto look = [&](const ServiceResources& resources) {
    if (!IsFree(resources)) return Availability::kTaken;
    if (!IsReserved(resources)) return Availability::kFree;
    return MayBorrow(resources, job.most_seconds) ? Availability::kBorrowed
                                                  : Availability::kTaken;
  };
  const std::vector<size_t> chosen = ChooseByNumber(job.wanted, fitting, look);
  if (chosen.empty()) return std::nullopt;
  DeviceSet devices;
  for (const size_t one : chosen) {
    devices.devices.push_back(fitting[one].device);
    devices.resources |= fitting[one].resources;
  }
  return devices;
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
    set.resources |= ResourcesOfHost(host);
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
  std::optional<DeviceSet> devices = FindByNumber(job);
  const bool has_most =
      devices.has_value() && devices->devices.size() >= wanted.max;
  if (!has_most && !AwaitedOf(wanted.hosts, snapshot_.hosts).empty()) {
    return std::nullopt;
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

DeviceLedger::Reservation DeviceLedger::ChooseToReserve(
    const WantedDevices& wanted) const {
  // It may start as soon as a host is back.
  const bool is_host_awaited =
      !AwaitedOf(wanted.hosts, snapshot_.hosts).empty();
  Reservation chosen;
  if (wanted.by_number()) {
    chosen = ChooseByNumberToReserve(wanted);
  } else {
    chosen.resources = LeastOf(wanted);
    const double free_in = FreeIn(chosen.resources);
    if (free_in != kNoLimit) chosen.lends_for = free_in;
  }
  if (is_host_awaited) chosen.lends_for = 0;
  return chosen;
}

// Devices that are not reserved are chosen, those first that are free, about to
// be free, or promised first. Other devices, whose holders have no time limit,
// may come free earlier and let the job start. So the job lends what it has
// reserved no longer than until then.
DeviceLedger::Reservation DeviceLedger::ChooseByNumberToReserve(
    const WantedDevices& wanted) const {
  const std::vector<FittingDevice> fitting = FittingOf(wanted);
  std::vector<double> free_in;  // By device.
  std::vector<double> may_be_free_in;
  std::vector<size_t> order;
  for (const FittingDevice& one : fitting) {
    order.push_back(order.size());
    free_in.push_back(HoldersOf(one.resources).empty() ? 0
                                                       : FreeIn(one.resources));
    const double known = FreeIn(one.resources);
    may_be_free_in.push_back(known == kNoLimit ? 0 : known);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(IsReserved(fitting[a].resources), free_in[a], a) <
           std::make_tuple(IsReserved(fitting[b].resources), free_in[b], b);
  });
  PutNeededFirst(wanted, fitting, order);
  // A host that is awaited may have the rest.
  order.resize(std::min<size_t>(order.size(), wanted.min));
  Reservation chosen;
  bool is_promised = order.size() == wanted.min;
  for (const size_t one : order) {
    chosen.resources |= fitting[one].resources;
    is_promised = is_promised && FreeIn(fitting[one].resources) != kNoLimit;
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
  std::vector<FittingDevice> fitting;
  if (job.wanted.by_number()) {
    fitting = FittingOf(job.wanted);
    for (const FittingDevice& one : fitting) add(one.resources);
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
  if (!chosen.has_value()) return chosen;
  for (size_t& one : *chosen) one = candidates[one];
  // The devices may be those of the wrong hosts.
  const auto look = [&](const ServiceResources& resources) {
    const std::vector<size_t> holders = HoldersOf(resources);
    const bool comes_free =
        std::all_of(holders.begin(), holders.end(), [&](size_t holder) {
          return std::find(chosen->begin(), chosen->end(), holder) !=
                 chosen->end();
        });
    return comes_free && !IsReserved(resources) ? Availability::kFree
                                                : Availability::kTaken;
  };
  if (job.wanted.by_number() &&
      ChooseByNumber(job.wanted, fitting, look).empty()) {
    return std::nullopt;
  }
  return chosen;
}

void DeviceLedger::Preempt(const std::vector<size_t>& running) {
  for (const size_t one : running) holders_[one].is_leaving = true;
  ++promised_;
}

ServiceResources DeviceLedger::FindMore(const RunningJob& job) const {
  const std::vector<Device>& has = job.devices.devices;
  const WantedDevices& wanted = job.wanted;
  ServiceResources more;
  if (!wanted.by_number()) {
    const size_t num_hosts = CountHosts(has);
    const size_t most =
        wanted.hosts.max > num_hosts ? wanted.hosts.max - num_hosts : 0;
    for (const size_t host :
         FindMoreHosts(wanted.hosts, job.devices.resources, most)) {
      more |= ResourcesOfHost(host);
    }
    return more;
  }
  size_t num_devices = has.size();
  for (const FittingDevice& one : FittingOf(wanted, job.devices.resources)) {
    if (num_devices >= wanted.max) break;
    if (std::find(has.begin(), has.end(), one.device) != has.end()) continue;
    // A job has a host as a whole.
    const ServiceResources lacks =
        one.host == 0 ? one.resources : one.resources & ~job.devices.resources;
    if (!IsFree(lacks) || IsReserved(lacks)) continue;
    more |= one.resources;
    ++num_devices;
  }
  return more;
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
    const ServiceResources more = FindMore(snapshot_.running[candidate]);
    if (more.none()) continue;
    ReserveResources({.resources = more});
    grow.push_back(candidate);
  }
  return grow;
}

}  // namespace fgnn
