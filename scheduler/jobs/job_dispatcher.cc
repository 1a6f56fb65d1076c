#include "scheduler/jobs/job_dispatcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_table_parts.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::seconds;

// Seconds between two writes of a job's device seconds. A kill of the service
// forgets at most as many.
constexpr double kSaveEverySeconds = 10;
// Time for which a job keeps its devices after its checkpoint could not be
// written.
constexpr seconds kStayAfterFailure{60};
// One more device, or host, has to save as many starts of the job as
// kStartsToSave. A start counts at least kLeastStartSeconds, since a start that
// took over daemons takes less.
constexpr double kStartsToSave = 2;
constexpr double kLeastStartSeconds = 1;

// Returns whether a start with one device more, or one host, would pay for
// itself.
bool GainsByMore(const ActiveJob& active) {
  const std::vector<Device>& devices = active.devices.devices;
  const bool by_number = active.wanted.by_number();
  const auto has =
      static_cast<double>(by_number ? devices.size() : CountHosts(devices));
  const uint32_t most = by_number ? active.wanted.max : active.wanted.hosts.max;
  if (active.job.state != JobState::kRunning || has >= most) return false;
  const double saves = active.job.progress.seconds_left / (has + 1);
  return saves > kStartsToSave *
                     std::max(active.stay->start_seconds, kLeastStartSeconds);
}

// Returns nullptr if the job has no devices.
ActiveJob* FindRunning(JobTableParts& parts, const std::string& id)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts.mutex) {
  ActiveJob* const active = parts.jobs.Find(id);
  return active == nullptr || !active->runs() ? nullptr : active;
}

}  // namespace

std::optional<Job> JobDispatcher::StartNext(Deadline deadline) {
  MutexLock lock(&parts_.mutex);
  QueueOrder& order = parts_.order;
  parts_.jobs.SaveUnsaved();
  while (!parts_.closed) {
    Deadline until = deadline;
    // Without room the order is not needed; making it for each new job would be
    // wasted work.
    if (order.HasRoom()) {
      const std::optional<JobStart> start = order.FindStart();
      if (start.has_value()) return parts_.states.Start(*start);
      until = std::min(deadline, order.order_until());
    }
    if (MonotonicClock::now() >= deadline) return std::nullopt;
    parts_.changes.Wait(&lock, until);
  }
  return std::nullopt;
}

PreemptionCause JobDispatcher::PreemptCause(const std::string& id) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr || !active->cancel.ok()) return PreemptionCause::kNone;
  if (parts_.closed) {
    return parts_.keeps_jobs ? PreemptionCause::kServiceEnds
                             : PreemptionCause::kNone;
  }
  const DeviceStay& stay = *active->stay;
  if (stay.uncharged.Seconds() >= kSaveEverySeconds) {
    parts_.states.Charge(*active);
    parts_.jobs.Save(*active);
  }
  if (active->pause) return PreemptionCause::kPause;
  // After a checkpoint that failed, the next one is not tried at once.
  if (SecondsLeftOf(active->job, stay.uncharged.Seconds()) <= 0 &&
      MonotonicClock::now() >= stay.stays_until) {
    return PreemptionCause::kTimeIsUp;
  }
  // Only jobs of higher priority preempt a job.
  if (!stay.gains_by_more &&
      !parts_.jobs.HasQueuedAbove(active->job.options.priority)) {
    return PreemptionCause::kNone;
  }
  if (parts_.order.Order().is_preempted(id)) return PreemptionCause::kPriority;
  return parts_.order.Order().grows(id) ? PreemptionCause::kGrow
                                        : PreemptionCause::kNone;
}

void JobDispatcher::KeepOn(const std::string& id, const absl::Status& why) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  if (active->pause) {
    active->pause = false;
    active->not_paused = why;
  }
  active->stay->stays_until = DeadlineIn(kStayAfterFailure);
  parts_.order.SetChanged();
  parts_.jobs.Wake();
}

void JobDispatcher::Park(const std::string& id, PreemptionCause why) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  parts_.states.Park(*active, why);
}

bool JobDispatcher::TryAgain(const std::string& id, const absl::Status& error) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  return active != nullptr &&
         parts_.states.TryAgain(*active, error, parts_.closed);
}

absl::Status JobDispatcher::OwnFolder(const std::string& id) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = parts_.jobs.Find(id);
  if (active == nullptr) {
    return absl::InternalError(absl::StrCat("job ", id, " is not there"));
  }
  Job& job = active->job;
  const FolderUse before = std::exchange(job.folder, FolderUse::kOwn);
  absl::Status stored = parts_.store.Update(job);
  if (!stored.ok()) job.folder = before;
  return stored;
}

void JobDispatcher::ForgetInterruptions(const std::string& id) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = parts_.jobs.Find(id);
  if (active == nullptr || active->job.interruptions == 0) return;
  active->job.interruptions = 0;
  parts_.jobs.Save(*active);
}

void JobDispatcher::MarkRunning(const std::string& id) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active != nullptr) parts_.states.MarkRunning(*active);
}

void JobDispatcher::UpdateProgress(
    const std::string& id, const std::function<void(JobProgress&)>& update) {
  const MutexLock lock(&parts_.mutex);
  if (parts_.jobs.HasEnded(id)) return;
  ActiveJob& active = parts_.jobs.at(id);
  update(active.job.progress);
  if (active.runs()) {
    const bool gains = GainsByMore(active);
    if (gains != std::exchange(active.stay->gains_by_more, gains)) {
      parts_.order.SetChanged();
    }
  }
  parts_.jobs.Announce(active);
}

void JobDispatcher::KeepShares(const std::string& id,
                               std::vector<HostShare> shares) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  active->job.progress.shares = std::move(shares);
  parts_.jobs.Save(*active);
  parts_.jobs.Announce(*active);
}

void JobDispatcher::SetWaitingFor(const std::string& id,
                                  const std::string& what) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  active->job.waiting_for = what;
  parts_.jobs.Announce(*active);
}

bool JobDispatcher::LeaveOut(const std::string& id, const std::string& host,
                             const std::string& why) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr ||
      CountHosts(active->devices.devices) <= active->wanted.hosts.min) {
    return false;
  }
  active->wanted.hosts.left_out.push_back(host);
  LogWarning("job {}: goes on without host {}: {}", id, host, why);
  return true;
}

bool JobDispatcher::NeedHosts(const std::string& id, size_t num_hosts,
                              const std::string& why) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr || active->wanted.by_number()) return false;
  WantedHosts& wanted = active->wanted.hosts;
  if (num_hosts > wanted.max) return false;
  wanted.min = std::max(wanted.min, static_cast<uint32_t>(num_hosts));
  wanted.lacks = why;
  return true;
}

absl::Status JobDispatcher::CancelCause(const std::string& id) const {
  const MutexLock lock(&parts_.mutex);
  const ActiveJob* const active = parts_.jobs.Find(id);
  return active == nullptr ? absl::OkStatus() : active->cancel;
}

void JobDispatcher::End(const std::string& id, JobState state,
                        const absl::Status& error) {
  const MutexLock lock(&parts_.mutex);
  parts_.states.End(id, state, error);
}

bool JobDispatcher::HasQueued() const {
  const MutexLock lock(&parts_.mutex);
  return !parts_.jobs.queued().empty();
}

bool JobDispatcher::resumes_interrupted() const {
  return parts_.resumes_interrupted;
}

bool JobDispatcher::closed() const {
  const MutexLock lock(&parts_.mutex);
  return parts_.closed;
}

void JobDispatcher::WaitUntilClosed(Deadline deadline) {
  MutexLock lock(&parts_.mutex);
  parts_.changes.WaitUntil(
      &lock, deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_.mutex) {
        return parts_.closed;
      });
}

}  // namespace fgnn
