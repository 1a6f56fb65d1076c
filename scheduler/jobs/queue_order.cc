#include "scheduler/jobs/queue_order.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fgnn {
namespace {

// Time for which a suspect is held back while another suspect is prepared.
constexpr std::chrono::seconds kSuspectHold{1};
// Time between two looks at the hosts of the service.
constexpr std::chrono::milliseconds kLookAtHostsEvery{500};

double SecondsSince(Deadline then, Deadline now) {
  return std::chrono::duration<double>(now - then).count();
}

}  // namespace

QueueOrder::QueueOrder(std::vector<ServiceDevice> devices, AskHosts hosts,
                       const ActiveJobs* jobs, const DeviceAccount* account,
                       JobChanges* changes)
    : devices_(std::move(devices)),
      ask_hosts_(std::move(hosts)),
      opened_(MonotonicClock::now()),
      jobs_(jobs),
      account_(account),
      changes_(changes) {}

void QueueOrder::SetChanged() {
  order_.reset();
  order_change_ = changes_->Next();
}

bool QueueOrder::HasRoom() const {
  return jobs_->running().size() < std::max<size_t>(devices_.size(), 1);
}

// Suspects are prepared one after the other, so that a further death of the
// service counts for one of them only.
bool QueueOrder::IsSuspectPrepared() const {
  return std::any_of(jobs_->running().begin(), jobs_->running().end(),
                     [&](const std::string& id) {
                       const Job& job = jobs_->at(id).job;
                       return job.state == JobState::kPreparing &&
                              job.progress.deaths_in_preparing > 0;
                     });
}

void QueueOrder::AddQueued(const ActiveJob& active, bool is_suspect_prepared,
                           Deadline now) {
  QueuedJob& job = snapshot_.queued.emplace_back();
  job.id = active.job.id;
  job.user = active.job.user;
  job.priority = active.job.options.priority;
  job.number = active.number;
  job.was_interrupted = active.was_interrupted;
  job.after = {active.unmet.begin(), active.unmet.end()};
  if (active.held_until > now && !active.pause) {
    job.held_seconds = SecondsSince(now, active.held_until);
    order_until_ = std::min(order_until_, active.held_until);
  } else if (is_suspect_prepared &&
             active.job.progress.deaths_in_preparing > 0 && !active.pause) {
    job.held_seconds = kSuspectHold.count();
    order_until_ = std::min(order_until_, now + kSuspectHold);
  }
  // The job's daemons may still work on its earlier devices.
  if (active.was_interrupted && !active.devices.devices.empty()) {
    job.wanted = WantedAtWork(active.devices.devices);
  } else {
    job.wanted = active.wanted;
  }
  job.most_seconds = SecondsLeftOf(active.job, 0);
}

void QueueOrder::AddRunning(const ActiveJob& active, Deadline now) {
  const DeviceStay& stay = *active.stay;
  RunningJob& job = snapshot_.running.emplace_back();
  job.id = active.job.id;
  job.priority = active.job.options.priority;
  job.is_leaving = !active.cancel.ok() || active.pause;
  job.can_be_preempted = !job.is_leaving && now >= stay.stays_until;
  job.started = stay.number;
  job.devices = MakeDeviceSet(active.devices.devices, snapshot_.hosts);
  job.most_seconds = SecondsLeftOf(active.job, stay.uncharged.Seconds());
  job.wanted = active.wanted;
  job.gains_by_more = stay.gains_by_more && job.can_be_preempted;
  if (stay.stays_until > now) {
    order_until_ = std::min(order_until_, stay.stays_until);
  }
}

void QueueOrder::AddHosts(Deadline now) {
  std::vector<ServiceHost>& hosts = snapshot_.hosts;
  if (ask_hosts_ != nullptr) hosts = ask_hosts_();
  const auto add = [&](const std::vector<Device>& devices) {
    for (const Device& device : devices) {
      const bool is_known =
          device.host.empty() ||
          std::any_of(hosts.begin(), hosts.end(), [&](const ServiceHost& host) {
            return host.name == device.host;
          });
      // A host may join again after the service has started again.
      if (!is_known) {
        hosts.push_back({.name = device.host,
                         .silent_seconds = SecondsSince(opened_, now)});
      }
    }
  };
  bool may_have_several = false;
  const auto look_at = [&](const ActiveJob& active) {
    add(active.devices.devices);
    add(active.wanted.hosts.named);
    may_have_several |= active.wanted.hosts.max > 1;
  };
  for (const auto& [number, active] : jobs_->queued()) look_at(*active);
  for (const std::string& id : jobs_->running()) look_at(jobs_->at(id));
  if (may_have_several) {
    order_until_ = std::min(order_until_, now + kLookAtHostsEvery);
  }
}

void QueueOrder::MakeSnapshot(Deadline now) {
  const bool is_suspect_prepared = IsSuspectPrepared();
  snapshot_ = QueueSnapshot();
  snapshot_.devices = devices_;
  snapshot_.user_seconds = account_->user_seconds();
  order_until_ = Deadline::max();
  AddHosts(now);
  snapshot_.queued.reserve(jobs_->queued().size());
  for (const auto& [number, active] : jobs_->queued()) {
    AddQueued(*active, is_suspect_prepared, now);
  }
  for (const std::string& id : jobs_->running()) AddRunning(jobs_->at(id), now);
}

const JobOrder& QueueOrder::Order() {
  const Deadline now = MonotonicClock::now();
  if (IsOrderMade(now)) return *order_;
  // The time of a hold has passed.
  if (order_.has_value()) order_change_ = changes_->Next();
  MakeSnapshot(now);
  order_ = OrderJobs(snapshot_);
  wait_of_.resize(order_->waits.size());
  for (size_t i = 0; i < wait_of_.size(); ++i) {
    wait_of_[order_->waits[i].job] = i;
  }
  return *order_;
}

std::vector<std::string> QueueOrder::First(size_t most) {
  std::vector<std::string> ids;
  if (most == 0) return ids;
  for (const JobWait& wait : Order().waits) {
    if (ids.size() == most) break;
    ids.push_back(snapshot_.queued[wait.job].id);
  }
  return ids;
}

std::string QueueOrder::ReasonOf(const ActiveJob& active) {
  const JobOrder& order = Order();
  // The snapshot has the jobs in the order of their numbers.
  const auto job = std::lower_bound(
      snapshot_.queued.begin(), snapshot_.queued.end(), active.number,
      [](const QueuedJob& queued, uint64_t number) {
        return queued.number < number;
      });
  const auto index = static_cast<size_t>(job - snapshot_.queued.begin());
  return fgnn::ReasonOf(order.waits[wait_of_[index]], order, snapshot_);
}

std::optional<JobStart> QueueOrder::FindStart() {
  const bool is_old = IsOrderMade(MonotonicClock::now());
  if (Order().starts.empty()) return std::nullopt;
  if (is_old) {
    order_.reset();
    if (Order().starts.empty()) return std::nullopt;
  }
  return order_->starts.front();
}

bool QueueOrder::MayTakeOver(const ActiveJob& active) const {
  if (!active.was_interrupted || !HasRoom()) return false;
  const ServiceResources& resources = active.devices.devices.empty()
                                          ? active.wanted.named.resources
                                          : active.devices.resources;
  return std::none_of(
      jobs_->running().begin(), jobs_->running().end(),
      [&](const std::string& id) {
        return (jobs_->at(id).devices.resources & resources).any();
      });
}

}  // namespace fgnn
