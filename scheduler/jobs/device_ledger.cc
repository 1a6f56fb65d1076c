#include "scheduler/jobs/device_ledger.h"

#include <algorithm>
#include <tuple>

#include "scheduler/jobs/fewest.h"

namespace fgnn {
namespace {

constexpr int kNobody = -1;

// Calls `visit` with the number of each core of the set.
template <typename Visit>
void ForEachCore(const CoreSet& cores, const Visit& visit) {
  for (size_t core = cores._Find_first(); core < cores.size();
       core = cores._Find_next(core)) {
    visit(core);
  }
}

}  // namespace

DeviceLedger::DeviceLedger(const QueueSnapshot& snapshot)
    : snapshot_(snapshot),
      holder_of_(CoreSet().size(), kNobody),
      lent_for_(CoreSet().size(), kNoLimit) {
  for (const RunningJob& job : snapshot.running) {
    ForEachCore(job.devices.cores, [this](size_t core) {
      holder_of_[core] = static_cast<int>(holders_.size());
    });
    held_ |= job.devices.cores;
    holders_.push_back({.most_seconds = job.most_seconds,
                        .priority = job.priority,
                        .can_give_way = job.can_give_way,
                        .is_leaving = job.is_leaving,
                        .started = job.started});
  }
}

bool DeviceLedger::MayBorrow(const CoreSet& cores, double seconds) const {
  bool may = true;
  ForEachCore(cores & reserved_,
              [&](size_t core) { may = may && seconds <= lent_for_[core]; });
  return may;
}

std::optional<DeviceSet> DeviceLedger::FindStart(const QueuedJob& job) const {
  if (holders_.size() >= snapshot_.most_running()) return std::nullopt;
  const WantedDevices& wanted = job.wanted;
  if (!wanted.by_number()) {
    const CoreSet& cores = wanted.named.cores;
    if (!IsFree(cores) || !MayBorrow(cores, job.most_seconds)) {
      return std::nullopt;
    }
    return wanted.named;
  }
  std::vector<const ServiceDevice*> own;       // Reserved by nobody.
  std::vector<const ServiceDevice*> borrowed;  // For no more than `min`.
  for (const ServiceDevice& device : snapshot_.devices) {
    if (!wanted.fits(device) || !IsFree(device.cores)) continue;
    if (!IsReserved(device.cores)) {
      if (own.size() < wanted.max) own.push_back(&device);
    } else if (MayBorrow(device.cores, job.most_seconds)) {
      borrowed.push_back(&device);
    }
  }
  for (size_t i = 0; own.size() < wanted.min && i < borrowed.size(); ++i) {
    own.push_back(borrowed[i]);
  }
  if (own.size() < wanted.min) return std::nullopt;
  DeviceSet devices;
  for (const ServiceDevice* device : own) {
    devices.names.push_back(device->name);
    devices.cores |= device->cores;
  }
  return devices;
}

void DeviceLedger::Start(const QueuedJob& job, const DeviceSet& devices) {
  ForEachCore(devices.cores, [this](size_t core) {
    holder_of_[core] = static_cast<int>(holders_.size());
  });
  held_ |= devices.cores;
  holders_.push_back({.most_seconds = job.most_seconds});
}

double DeviceLedger::FreeIn(const CoreSet& cores) const {
  double seconds = 0;
  ForEachCore(cores & held_, [&](size_t core) {
    const Holder& holder = holders_[static_cast<size_t>(holder_of_[core])];
    seconds =
        std::max(seconds, holder.is_leaving ? kNoLimit : holder.most_seconds);
  });
  // Not before those that have reserved them start.
  ForEachCore(cores & reserved_, [&](size_t core) {
    seconds =
        std::max(seconds, lent_for_[core] > 0 ? lent_for_[core] : kNoLimit);
  });
  return seconds;
}

std::vector<size_t> DeviceLedger::HoldersOf(const CoreSet& cores) const {
  std::vector<size_t> holders;
  ForEachCore(cores & held_, [&](size_t core) {
    const auto holder = static_cast<size_t>(holder_of_[core]);
    if (!holders_[holder].is_leaving &&
        std::find(holders.begin(), holders.end(), holder) == holders.end()) {
      holders.push_back(holder);
    }
  });
  return holders;
}

// Of devices by number those that are not reserved, and of these those that are
// free, or about to be, or promised first. Others that come free before, for
// who has them has no limit, might let the job start earlier: it lends what it
// has reserved no longer than until then.
DeviceLedger::Reservation DeviceLedger::ChooseToReserve(
    const WantedDevices& wanted) const {
  if (!wanted.by_number()) {
    const double free_in = FreeIn(wanted.named.cores);
    return {wanted.named.cores, free_in == kNoLimit ? 0 : free_in};
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
    const bool is_soon = HoldersOf(device.cores).empty();
    choices.push_back(
        {IsReserved(device.cores), is_soon ? 0 : FreeIn(device.cores), i});
  }
  std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
    return std::tie(a.is_reserved, a.free_in, a.place) <
           std::tie(b.is_reserved, b.free_in, b.place);
  });
  Reservation chosen;
  bool is_promised = true;
  std::vector<double> may_be_free_in;
  for (size_t i = 0; i < choices.size(); ++i) {
    const CoreSet& cores = snapshot_.devices[choices[i].place].cores;
    const double free_in = FreeIn(cores);
    may_be_free_in.push_back(free_in == kNoLimit ? 0 : free_in);
    if (i >= wanted.min) continue;
    chosen.cores |= cores;
    is_promised &= free_in != kNoLimit;
  }
  if (!is_promised) return chosen;
  std::sort(may_be_free_in.begin(), may_be_free_in.end());
  chosen.lends_for = may_be_free_in[wanted.min - 1];
  return chosen;
}

DeviceLedger::Reservation DeviceLedger::Reserve(const QueuedJob& job) {
  const Reservation made = ChooseToReserve(job.wanted);
  ReserveCores(made);
  return made;
}

void DeviceLedger::ReserveCores(const Reservation& reservation) {
  reserved_ |= reservation.cores;
  ForEachCore(reservation.cores, [&](size_t core) {
    lent_for_[core] = std::min(lent_for_[core], reservation.lends_for);
  });
}

std::optional<std::vector<size_t>> DeviceLedger::FindWhoGivesWay(
    const QueuedJob& job) const {
  // Candidates, in the order in which they would be chosen.
  std::vector<size_t> candidates;
  bool any_leaves = false;
  for (size_t i = 0; i < holders_.size(); ++i) {
    const Holder& holder = holders_[i];
    any_leaves |= holder.is_leaving;
    if (holder.can_give_way && !holder.is_leaving &&
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

  // What has to come free, by who has it.
  std::vector<std::vector<size_t>> targets;
  size_t need = job.wanted.by_number() ? job.wanted.min : 1;
  const auto add = [&](const CoreSet& cores) {
    if (IsReserved(cores)) return;
    std::vector<size_t> holders = HoldersOf(cores);
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
      if (job.wanted.fits(device)) add(device.cores);
    }
  } else {
    add(job.wanted.named.cores);
  }
  // One more is to run than do not leave.
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

void DeviceLedger::GiveWay(const std::vector<size_t>& running) {
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
    const size_t has = job.devices.names.size();
    size_t gets = 0;
    for (const ServiceDevice& device : snapshot_.devices) {
      if (has + gets >= job.wanted.max) break;
      if (!job.wanted.fits(device) || !IsFree(device.cores) ||
          IsReserved(device.cores)) {
        continue;
      }
      ReserveCores({.cores = device.cores});
      ++gets;
    }
    if (gets > 0) grow.push_back(candidate);
  }
  return grow;
}

}  // namespace fgnn
