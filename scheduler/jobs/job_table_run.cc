// The jobs as those who run them see them: who goes next, and where
// from.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_table.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::seconds;

constexpr size_t kMaxUnseen = 10'000;
// What a kill of the service may cost a time limit and a share.
constexpr double kSaveEverySeconds = 10;
// A start counts so much of each device at once: a user whose jobs fail at once
// would go first for ever, and one with many would get all that is free.
constexpr double kLeastCharge = 0.1;
constexpr seconds kLongestHold{60};
// After a checkpoint that could not be written for one that would go first.
constexpr seconds kStayAfterFailure{60};
// What one more device has to save, in starts of the job; and the least that a
// start takes, for one that took over daemons took less.
constexpr double kStartsToSave = 2;
constexpr double kLeastStartSeconds = 1;
// Then a suspect that waits for another one is looked at again.
constexpr seconds kSuspectHold{1};

// A table without devices counts all that a job has as one.
double NumDevicesOf(const Job& job) {
  return static_cast<double>(std::max<size_t>(job.devices.size(), 1));
}

// That its time limit leaves it, `uncounted` seconds after they were added up.
double SecondsLeftOf(const Job& job, double uncounted) {
  if (job.time_limit_seconds == 0) return kNoLimit;
  return std::max(0.0, job.time_limit_seconds - job.run_seconds - uncounted);
}

}  // namespace

void JobTable::OrderChangedLocked() {
  order_.reset();
  order_change_ = ++changes_;
}

// Whether a job is prepared during whose preparation the service has died.
// Suspects are prepared one after the other, so that a further death is
// counted for one of them alone.
bool JobTable::IsSuspectPreparedLocked() const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const std::string& id) {
                       const Job& job = active_.at(id).job;
                       return job.state == JobState::kPreparing &&
                              job.progress.deaths_in_preparing > 0;
                     });
}

void JobTable::MakeSnapshotLocked(Deadline now) {
  const bool is_suspect_prepared = IsSuspectPreparedLocked();
  QueueSnapshot& snapshot = queue_snapshot_;
  snapshot = QueueSnapshot();
  snapshot.devices = devices_;
  snapshot.user_seconds = shares_.seconds();
  order_until_ = Deadline::max();
  for (const auto& [number, id] : queue_) {
    Active& active = active_.at(id);
    active.queued_at = snapshot.queued.size();
    QueuedJob& job = snapshot.queued.emplace_back();
    job.id = id;
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
    // Its daemons may be at work where it was.
    if (active.was_interrupted && !active.devices.names.empty()) {
      job.wanted.named = active.devices;
    } else {
      job.wanted = active.wanted;
    }
    job.most_seconds = SecondsLeftOf(active.job, 0);
  }
  for (const std::string& id : running_) {
    const Active& active = active_.at(id);
    RunningJob& job = snapshot.running.emplace_back();
    job.id = id;
    job.priority = active.job.priority;
    job.is_leaving = !active.cancel.ok() || active.pause;
    job.can_give_way = !job.is_leaving && now >= active.stays_until;
    job.started = active.started;
    job.devices = active.devices;
    job.most_seconds = SecondsLeftOf(active.job, active.uncharged->Seconds());
    job.wanted = active.wanted;
    job.gains_by_more = active.gains_by_more && job.can_give_way;
    if (active.stays_until > now) {
      order_until_ = std::min(order_until_, active.stays_until);
    }
  }
}

const JobOrder& JobTable::OrderLocked() {
  const Deadline now = MonotonicClock::now();
  if (order_.has_value() && now < order_until_) return *order_;
  if (order_.has_value()) order_change_ = ++changes_;  // A hold has ended.
  MakeSnapshotLocked(now);
  order_ = OrderJobs(queue_snapshot_);
  wait_of_.resize(order_->waits.size());
  for (size_t i = 0; i < wait_of_.size(); ++i) {
    wait_of_[order_->waits[i].job] = i;
  }
  return *order_;
}

// As clients are told of it.
Job JobTable::DescribeLocked(const Active& active) {
  Job job = active.job;
  if (active.uncharged.has_value()) {
    job.run_seconds += active.uncharged->Seconds();
  }
  if (job.state == JobState::kQueued) {
    const JobOrder& order = OrderLocked();
    job.waiting_for = ReasonOf(order.waits[wait_of_[active.queued_at]], order,
                               queue_snapshot_);
  }
  return job;
}

// Time limits have come nearer since an order was made, so that what may start
// by it is looked at again.
std::optional<Job> JobTable::StartNext(Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  SaveUnsavedLocked();
  while (true) {
    if (closed_) return std::nullopt;
    Deadline until = deadline;
    // Else the order would be made for nothing with each job that comes.
    if (running_.size() < MostRunning()) {
      if (!OrderLocked().starts.empty()) {
        order_.reset();
        if (!OrderLocked().starts.empty()) break;
      }
      until = std::min(deadline, order_until_);
    }
    if (MonotonicClock::now() >= deadline) return std::nullopt;
    changed_.wait_until(lock, until);
  }
  const JobStart start = OrderLocked().starts.front();
  Active& active = active_.at(start.id);
  queue_.erase(active.number);
  running_.insert(start.id);
  active.devices = start.devices;
  active.job.devices = start.devices.names;
  active.started = ++starts_;
  active.stays_until = Deadline::min();
  active.was_interrupted = false;
  active.uncharged.emplace();
  active.began = MonotonicClock::now();
  active.start_seconds = kNoLimit;
  active.gains_by_more = false;
  active.prepaid = kLeastCharge * NumDevicesOf(active.job);
  shares_.Charge(active.job.user, active.prepaid, UnixMilliseconds());
  if (active.job.started_ms == 0) active.job.started_ms = UnixMilliseconds();
  active.job.progress.phase = "preparing";
  OrderChangedLocked();
  GoLocked(active, JobState::kPreparing);
  return active.job;
}

// The seconds since the last time count from now on.
void JobTable::ChargeLocked(Active& active) {
  const double used = active.uncharged->Restart();
  const double of_devices = used * NumDevicesOf(active.job);
  active.job.run_seconds += used;
  active.job.device_seconds += of_devices;
  const double paid = std::min(active.prepaid, of_devices);
  active.prepaid -= paid;
  shares_.Charge(active.job.user, of_devices - paid, UnixMilliseconds());
  OrderChangedLocked();
}

// Of its devices, which others may have from now on.
void JobTable::LetGoLocked(Active& active) {
  ChargeLocked(active);
  active.uncharged.reset();
  active.devices = DeviceSet();
  running_.erase(active.job.id);
}

// nullptr: it has no devices.
JobTable::Active* JobTable::FindRunningLocked(const std::string& id) {
  const auto place = active_.find(id);
  if (place == active_.end() || !place->second.runs()) return nullptr;
  return &place->second;
}

// Whether a job that was interrupted can have its devices before others do.
bool JobTable::MayTakeOverLocked(const Active& active) const {
  if (!active.was_interrupted || running_.size() >= MostRunning()) {
    return false;
  }
  const ResourceSet& resources = active.devices.names.empty()
                                     ? active.wanted.named.resources
                                     : active.devices.resources;
  return std::none_of(
      running_.begin(), running_.end(), [&](const std::string& id) {
        return (active_.at(id).devices.resources & resources).any();
      });
}

LetGo JobTable::ShouldLetGo(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Active* const active = FindRunningLocked(id);
  if (active == nullptr || closed_ || !active->cancel.ok()) return LetGo::kNo;
  if (active->uncharged->Seconds() >= kSaveEverySeconds) {
    ChargeLocked(*active);
    SaveLocked(*active);
  }
  if (active->pause) return LetGo::kPause;
  // Its last checkpoint is not tried again at once on a full disk.
  if (SecondsLeftOf(active->job, active->uncharged->Seconds()) <= 0 &&
      MonotonicClock::now() >= active->stays_until) {
    return LetGo::kTimeIsUp;
  }
  if (OrderLocked().gives_way(id)) return LetGo::kGiveWay;
  return OrderLocked().grows(id) ? LetGo::kGrow : LetGo::kNo;
}

// Whether a start with one device more would pay for itself.
bool JobTable::GainsByMore(const Active& active) {
  const auto has = static_cast<double>(active.devices.names.size());
  if (active.job.state != JobState::kRunning || !active.wanted.by_number() ||
      has >= active.wanted.max) {
    return false;
  }
  const double saves = active.job.progress.seconds_left / (has + 1);
  return saves >
         kStartsToSave * std::max(active.start_seconds, kLeastStartSeconds);
}

void JobTable::KeepOn(const std::string& id, const absl::Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Active* const active = FindRunningLocked(id);
  if (active == nullptr) return;
  if (active->pause) {
    active->pause = false;
    active->not_paused = why;
  }
  active->stays_until = DeadlineIn(kStayAfterFailure);
  OrderChangedLocked();
  changed_.notify_all();
}

// From the devices, or between the queue and the paused ones.
void JobTable::EnqueueLocked(Active& active, JobState state) {
  if (active.runs()) {
    active.job.resume = true;
    active.pause = false;
    active.job.progress.executors.clear();
    active.job.progress.edges_per_second = 0;
    active.job.progress.seconds_left = -1;
    active.job.progress.phase = std::string(NameOf(state));
    LetGoLocked(active);
  }
  active.job.devices.clear();
  if (state == JobState::kQueued) {
    queue_.emplace(active.number, active.job.id);
  } else {
    queue_.erase(active.number);
  }
  OrderChangedLocked();
  GoLocked(active, state);
}

void JobTable::Park(const std::string& id, LetGo why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (FindRunningLocked(id) == nullptr) return;
  Active& active = active_.at(id);
  if (!active.cancel.ok()) {
    EndLocked(id, JobState::kCancelled, active.cancel);
    return;
  }
  // Somebody may have had it go on since it began to let go, or asked for the
  // pause of one that was about to give way.
  const bool paused = active.pause;
  if (!paused && why == LetGo::kGiveWay) ++active.job.preemptions;
  EnqueueLocked(active, paused ? JobState::kPaused : JobState::kQueued);
}

bool JobTable::TryAgain(const std::string& id, const absl::Status& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (FindRunningLocked(id) == nullptr) return false;
  Active& active = active_.at(id);
  const bool may_mend = absl::IsUnavailable(error) ||
                        absl::IsResourceExhausted(error) ||
                        absl::IsInternal(error) || absl::IsUnknown(error);
  const uint32_t failed = active.job.attempts++;
  if (!may_mend || failed >= active.job.retries || !active.cancel.ok() ||
      closed_) {
    return false;
  }
  const auto hold =
      std::min(seconds(1 << std::min<uint32_t>(failed, 6)), kLongestHold);
  LogWarning(
      "job {}: failed, {} of {} times before it is over; tried again in "
      "{} s: {}",
      id, failed + 1, active.job.retries + 1, hold.count(), MessageOf(error));
  active.job.error = error;
  active.held_until = DeadlineIn(hold);
  EnqueueLocked(active, active.pause ? JobState::kPaused : JobState::kQueued);
  return true;
}

// Our own steps alone come here, so a wrong one is a bug; the job's fate is
// still what happened.
void JobTable::GoLocked(Active& active, JobState state) {
  if (!CanGo(active.job.state, state)) {
    LogError("job {}: no way from {} to {}", active.job.id,
             NameOf(active.job.state), NameOf(state));
    return;
  }
  active.job.state = state;
  active.change = ++changes_;
  last_change_ = MonotonicClock::now();
  SaveLocked(active);
  changed_.notify_all();
}

// The job goes on if its state cannot be written: it is in memory, and each
// turn of the service tries again. After a restart the job counts as
// interrupted, which is the safe side.
void JobTable::SaveLocked(Active& active) {
  const std::string& id = active.job.id;
  const absl::Status saved = store_.Update(active.job);
  if (saved.ok()) {
    unsaved_.erase(id);
  } else if (unsaved_.insert(id).second) {
    LogError("job {}: its state is kept in memory, to be stored later: {}", id,
             MessageOf(saved));
  }
}

void JobTable::SaveUnsavedLocked() {
  const std::vector<std::string> unsaved(unsaved_.begin(), unsaved_.end());
  for (const std::string& id : unsaved) {
    Active& active = active_.at(id);
    SaveLocked(active);
    if (unsaved_.contains(id)) continue;  // There is no room yet.
    LogInfo("job {}: its state is stored now", id);
    if (!active.has_ended()) continue;
    --unsaved_ends_;
    ForgetLocked(id);
  }
}

// Of one whose end the store knows.
void JobTable::ForgetLocked(const std::string& id) {
  active_.erase(id);
  changed_.notify_all();
}

absl::Status JobTable::OwnFolder(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto place = active_.find(id);
  if (place == active_.end()) {
    return absl::InternalError(absl::StrCat("job ", id, " is not there"));
  }
  Job& job = place->second.job;
  const FolderUse before = std::exchange(job.folder, FolderUse::kOwn);
  absl::Status stored = store_.Update(job);
  if (!stored.ok()) job.folder = before;
  return stored;
}

void JobTable::WaitUntilClosed(Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return closed_; });
}

void JobTable::ForgetInterruptions(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  if (active == active_.end() || active->second.job.interruptions == 0) return;
  active->second.job.interruptions = 0;
  SaveLocked(active->second);
}

void JobTable::MarkRunning(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  // Somebody may have cancelled it meanwhile: then it stays CANCELLING.
  if (active == active_.end() ||
      active->second.job.state != JobState::kPreparing) {
    return;
  }
  active->second.start_seconds =
      std::chrono::duration<double>(MonotonicClock::now() -
                                    active->second.began)
          .count();
  Active& running = active->second;
  if (running.job.progress.deaths_in_preparing > 0) {
    running.job.progress.deaths_in_preparing = 0;
    OrderChangedLocked();
  }
  GoLocked(running, JobState::kRunning);
}

void JobTable::UpdateProgress(const std::string& id,
                              const std::function<void(JobProgress&)>& update) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (HasEndedLocked(id)) return;
  const auto active = active_.find(id);
  update(active->second.job.progress);
  const bool gains = GainsByMore(active->second);
  if (gains != std::exchange(active->second.gains_by_more, gains)) {
    OrderChangedLocked();
  }
  active->second.change = ++changes_;
  changed_.notify_all();
}

absl::Status JobTable::CancelCause(const std::string& id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  return active == active_.end() ? absl::OkStatus() : active->second.cancel;
}

void JobTable::End(const std::string& id, JobState state,
                   const absl::Status& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  EndLocked(id, state, error);
}

// And those that were to run after it, where it did not complete.
void JobTable::EndLocked(const std::string& id, JobState state,
                         const absl::Status& error) {
  std::vector<std::string> dependents = DependentsLocked(id);
  EndOneLocked(id, state, error);
  if (state == JobState::kCompleted) {
    for (const std::string& dependent : dependents) {
      active_.at(dependent).unmet.erase(id);
    }
    return;
  }
  while (!dependents.empty()) {
    const std::string ended = std::move(dependents.back());
    dependents.pop_back();
    if (HasEndedLocked(ended)) continue;
    for (std::string& more : DependentsLocked(ended)) {
      dependents.push_back(std::move(more));
    }
    EndOneLocked(ended, JobState::kFailed,
                 absl::FailedPreconditionError(absl::StrCat(
                     "job ", id, ", which it was to run after, ",
                     state == JobState::kFailed ? "failed" : "was cancelled")));
  }
}

std::vector<std::string> JobTable::DependentsLocked(
    const std::string& id) const {
  std::vector<std::string> dependents;
  for (const auto& [other, active] : active_) {
    if (active.unmet.contains(id)) dependents.push_back(other);
  }
  return dependents;
}

void JobTable::EndOneLocked(const std::string& id, JobState state,
                            const absl::Status& error) {
  if (HasEndedLocked(id)) return;
  Active& active = active_.at(id);
  Job& job = active.job;
  if (active.runs()) LetGoLocked(active);
  queue_.erase(active.number);
  job.error = error;
  job.finished_ms = UnixMilliseconds();
  job.progress.executors.clear();
  job.progress.seconds_left = 0;
  job.progress.edges_per_second = 0;
  job.progress.phase = std::string(NameOf(state));
  OrderChangedLocked();
  GoLocked(active, state);
  if (const auto folder = folders_.find(job.run_dir);
      folder != folders_.end() && folder->second == id) {
    folders_.erase(folder);
  }
  if (unseen_.size() < kMaxUnseen) unseen_.insert(id);
  if (unsaved_.contains(id)) {
    ++unsaved_ends_;
  } else {
    ForgetLocked(id);
  }
}

}  // namespace fgnn
