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
constexpr seconds kLongestHold{60};
// Time for which a job keeps its devices after its checkpoint could not be
// written.
constexpr seconds kStayAfterFailure{60};
// One more device has to save as many starts of the job as kStartsToSave. A
// start counts at least kLeastStartSeconds, since a start that took over
// daemons takes less.
constexpr double kStartsToSave = 2;
constexpr double kLeastStartSeconds = 1;

// Returns whether a start with one device more would pay for itself.
bool GainsByMore(const ActiveJob& active) {
  const auto has = static_cast<double>(active.devices.devices.size());
  if (active.job.state != JobState::kRunning || !active.wanted.by_number() ||
      has >= active.wanted.max) {
    return false;
  }
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
  JobQueue& queue = parts_.queue;
  parts_.jobs.SaveUnsaved();
  while (true) {
    if (parts_.closed) return std::nullopt;
    Deadline until = deadline;
    // Without room the order is not needed; making it for each new job would be
    // wasted work.
    if (queue.HasRoom()) {
      if (queue.CanStart()) break;
      until = std::min(deadline, queue.order_until());
    }
    if (MonotonicClock::now() >= deadline) return std::nullopt;
    parts_.changes.Wait(&lock, until);
  }
  ActiveJob& active = queue.Start();
  if (active.job.started_ms == 0) active.job.started_ms = UnixMilliseconds();
  active.job.progress.phase = "preparing";
  queue.SetChanged();
  parts_.jobs.Go(active, JobState::kPreparing);
  return active.job;
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
    parts_.queue.Charge(*active);
    parts_.jobs.Save(*active);
  }
  if (active->pause) return PreemptionCause::kPause;
  // After a checkpoint that failed, the next one is not tried at once.
  if (SecondsLeftOf(active->job, stay.uncharged.Seconds()) <= 0 &&
      MonotonicClock::now() >= stay.stays_until) {
    return PreemptionCause::kTimeIsUp;
  }
  if (!parts_.queue.MayPreempt(*active)) return PreemptionCause::kNone;
  if (parts_.queue.Order().is_preempted(id)) return PreemptionCause::kPriority;
  return parts_.queue.Order().grows(id) ? PreemptionCause::kGrow
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
  parts_.queue.SetChanged();
  parts_.changes.Notify();
}

void JobDispatcher::Park(const std::string& id, PreemptionCause why) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  if (!active->cancel.ok()) {
    const absl::Status cause = active->cancel;
    parts_.steps.End(id, JobState::kCancelled, cause);
    return;
  }
  // A client may have continued the job since its preemption began. A client
  // may also have paused a job that was about to be preempted.
  const bool paused = active->pause;
  if (!paused && why == PreemptionCause::kPriority) ++active->job.preemptions;
  parts_.steps.Enqueue(*active, paused ? JobState::kPaused : JobState::kQueued);
}

bool JobDispatcher::TryAgain(const std::string& id, const absl::Status& error) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return false;
  const bool may_mend = absl::IsUnavailable(error) ||
                        absl::IsResourceExhausted(error) ||
                        absl::IsInternal(error) || absl::IsUnknown(error);
  const uint32_t failed = active->job.attempts++;
  if (!may_mend || failed >= active->job.retries || !active->cancel.ok() ||
      parts_.closed) {
    return false;
  }
  const auto hold =
      std::min(seconds(1 << std::min<uint32_t>(failed, 6)), kLongestHold);
  LogWarning(
      "job {}: failed, {} of {} times before it is over; tried again in "
      "{} s: {}",
      id, failed + 1, active->job.retries + 1, hold.count(), MessageOf(error));
  active->job.error = error;
  active->held_until = DeadlineIn(hold);
  parts_.steps.Enqueue(*active,
                       active->pause ? JobState::kPaused : JobState::kQueued);
  return true;
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
  // A client may have cancelled the job meanwhile; then it stays CANCELLING.
  if (active == nullptr || active->job.state != JobState::kPreparing) return;
  active->stay->start_seconds =
      std::chrono::duration<double>(MonotonicClock::now() - active->stay->began)
          .count();
  if (active->job.progress.deaths_in_preparing > 0) {
    active->job.progress.deaths_in_preparing = 0;
    parts_.queue.SetChanged();
  }
  parts_.jobs.Go(*active, JobState::kRunning);
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
      parts_.queue.SetChanged();
    }
  }
  active.change = parts_.changes.Next();
  parts_.changes.Notify();
}

void JobDispatcher::SetWaitingFor(const std::string& id,
                                  const std::string& what) {
  const MutexLock lock(&parts_.mutex);
  ActiveJob* const active = FindRunning(parts_, id);
  if (active == nullptr) return;
  active->job.waiting_for = what;
  active->change = parts_.changes.Next();
  parts_.changes.Notify();
}

absl::Status JobDispatcher::CancelCause(const std::string& id) const {
  const MutexLock lock(&parts_.mutex);
  const ActiveJob* const active = parts_.jobs.Find(id);
  return active == nullptr ? absl::OkStatus() : active->cancel;
}

void JobDispatcher::End(const std::string& id, JobState state,
                        const absl::Status& error) {
  const MutexLock lock(&parts_.mutex);
  parts_.steps.End(id, state, error);
}

bool JobDispatcher::HasQueued() const {
  const MutexLock lock(&parts_.mutex);
  return parts_.queue.num_queued() > 0;
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
