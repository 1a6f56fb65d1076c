#include "scheduler/jobs/job_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fgnn {
namespace {

// Time for which a suspect is held back while another suspect is prepared.
constexpr std::chrono::seconds kSuspectHold{1};

}  // namespace

JobQueue::JobQueue(std::vector<ServiceDevice> devices, ActiveJobs* jobs,
                   DeviceAccount* account, JobChanges* changes)
    : devices_(std::move(devices)),
      jobs_(jobs),
      account_(account),
      changes_(changes) {}

void JobQueue::Add(ActiveJob& active) {
  if (!queued_.emplace(active.number, &active).second) return;
  ++num_queued_of_[active.job.priority];
}

void JobQueue::Remove(const ActiveJob& active) {
  if (queued_.erase(active.number) == 0) return;
  const auto of_priority = num_queued_of_.find(active.job.priority);
  if (--of_priority->second == 0) num_queued_of_.erase(of_priority);
}

void JobQueue::SetChanged() {
  order_.reset();
  order_change_ = changes_->Next();
}

bool JobQueue::HasRoom() const {
  return running_.size() < std::max<size_t>(devices_.size(), 1);
}

// Suspects are prepared one after the other, so that a further death of the
// service counts for one of them only.
bool JobQueue::IsSuspectPrepared() const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const std::string& id) {
                       const Job& job = jobs_->at(id).job;
                       return job.state == JobState::kPreparing &&
                              job.progress.deaths_in_preparing > 0;
                     });
}

void JobQueue::AddQueued(uint64_t number, ActiveJob& active,
                         bool is_suspect_prepared, Deadline now) {
  active.queued_at = snapshot_.queued.size();
  QueuedJob& job = snapshot_.queued.emplace_back();
  job.id = active.job.id;
  job.user = active.job.user;
  job.priority = active.job.priority;
  job.number = number;
  job.was_interrupted = active.was_interrupted;
  job.after = {active.unmet.begin(), active.unmet.end()};
  if (active.held_until > now && !active.pause) {
    job.held_seconds =
        std::chrono::duration<double>(active.held_until - now).count();
    order_until_ = std::min(order_until_, active.held_until);
  } else if (is_suspect_prepared &&
             active.job.progress.deaths_in_preparing > 0 && !active.pause) {
    job.held_seconds = kSuspectHold.count();
    order_until_ = std::min(order_until_, now + kSuspectHold);
  }
  // The job's daemons may still work on its earlier devices.
  if (active.was_interrupted && !active.devices.devices.empty()) {
    job.wanted.named = active.devices;
  } else {
    job.wanted = active.wanted;
  }
  job.most_seconds = SecondsLeftOf(active.job, 0);
}

void JobQueue::AddRunning(const ActiveJob& active, Deadline now) {
  const DeviceStay& stay = *active.stay;
  RunningJob& job = snapshot_.running.emplace_back();
  job.id = active.job.id;
  job.priority = active.job.priority;
  job.is_leaving = !active.cancel.ok() || active.pause;
  job.can_be_preempted = !job.is_leaving && now >= stay.stays_until;
  job.started = stay.number;
  job.devices = active.devices;
  job.most_seconds = SecondsLeftOf(active.job, stay.uncharged.Seconds());
  job.wanted = active.wanted;
  job.gains_by_more = stay.gains_by_more && job.can_be_preempted;
  if (stay.stays_until > now) {
    order_until_ = std::min(order_until_, stay.stays_until);
  }
}

void JobQueue::MakeSnapshot(Deadline now) {
  const bool is_suspect_prepared = IsSuspectPrepared();
  snapshot_ = QueueSnapshot();
  snapshot_.devices = devices_;
  snapshot_.user_seconds = account_->user_seconds();
  order_until_ = Deadline::max();
  snapshot_.queued.reserve(queued_.size());
  for (const auto& [number, active] : queued_) {
    AddQueued(number, *active, is_suspect_prepared, now);
  }
  for (const std::string& id : running_) AddRunning(jobs_->at(id), now);
}

const JobOrder& JobQueue::Order() {
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

std::vector<std::string> JobQueue::First(size_t most) {
  std::vector<std::string> ids;
  if (most == 0) return ids;
  for (const JobWait& wait : Order().waits) {
    if (ids.size() == most) break;
    ids.push_back(snapshot_.queued[wait.job].id);
  }
  return ids;
}

std::string JobQueue::ReasonOf(const ActiveJob& active) {
  const JobOrder& order = Order();
  return fgnn::ReasonOf(order.waits[wait_of_[active.queued_at]], order,
                        snapshot_);
}

// Only jobs of higher priority preempt a job.
bool JobQueue::MayPreempt(const ActiveJob& active) const {
  return active.stay->gains_by_more ||
         num_queued_of_.upper_bound(active.job.priority) !=
             num_queued_of_.end();
}

bool JobQueue::CanStart() {
  const bool is_old = IsOrderMade(MonotonicClock::now());
  if (Order().starts.empty()) return false;
  if (!is_old) return true;
  order_.reset();
  return !Order().starts.empty();
}

ActiveJob& JobQueue::Start() {
  const JobStart start = Order().starts.front();
  ActiveJob& active = jobs_->at(start.id);
  Remove(active);
  running_.insert(start.id);
  active.devices = start.devices;
  active.job.devices = start.devices.devices;
  active.was_interrupted = false;
  active.stay = DeviceStay{.number = ++starts_, .began = MonotonicClock::now()};
  account_->Begin(active);
  return active;
}

void JobQueue::Charge(ActiveJob& active) {
  account_->Charge(active);
  SetChanged();
}

void JobQueue::ReleaseDevices(ActiveJob& active) {
  Charge(active);
  active.stay.reset();
  active.job.waiting_for.clear();
  active.devices = DeviceSet();
  running_.erase(active.job.id);
}

bool JobQueue::MayTakeOver(const ActiveJob& active) const {
  if (!active.was_interrupted || !HasRoom()) return false;
  const ResourceSet& resources = active.devices.devices.empty()
                                     ? active.wanted.named.resources
                                     : active.devices.resources;
  return std::none_of(
      running_.begin(), running_.end(), [&](const std::string& id) {
        return (jobs_->at(id).devices.resources & resources).any();
      });
}

}  // namespace fgnn
