#include "scheduler/jobs/job_recovery.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "scheduler/files/run_folder.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/jobs/job_states.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Number of interruptions in a row after which a job waits before it starts
// again, longer each time. The job may be the cause of the service's deaths;
// meanwhile other jobs go on, and a client can cancel it. The job does not fail
// for interruptions alone, since the service may be killed for other reasons.
constexpr uint32_t kFreeInterruptions = 5;
// Number of deaths of the service in a row, while the job was prepared, after
// which the job fails. Otherwise the deaths might never end. A start that
// reaches RUNNING sets the count to 0.
constexpr uint32_t kMostDeathsInPreparing = 10;

std::chrono::seconds HoldAfter(uint32_t interruptions) {
  if (interruptions <= kFreeInterruptions) return std::chrono::seconds(0);
  const uint32_t doublings =
      std::min<uint32_t>(interruptions - kFreeInterruptions - 1, 10);
  return std::min(std::chrono::seconds(1 << doublings), kLongestHold);
}

// Completes a job if its run is complete: the service ended after the job's
// summary was written and before its end was stored. Returns whether it is so.
// Such a job is not started again, since a client could cancel it meanwhile.
bool CompleteIfItWas(Job& job) {
  const std::optional<CompletedRun> run = ReadCompletedRun(job.run_dir);
  if (!run.has_value() || run->job_id != job.id) return false;
  job.state = JobState::kCompleted;
  job.finished_ms = UnixMilliseconds();
  JobProgress& progress = job.progress;
  progress.phase = std::string(NameOf(job.state));
  progress.epochs_done = static_cast<uint32_t>(run->epochs);
  progress.batches_committed = run->batches_committed;
  progress.test = run->test;
  LogInfo("job {}: was completed before the service ended", job.id);
  return true;
}

// Decides whether a job that ran when the service ended goes on or ends.
void SettleInterrupted(Job& job) {
  const LogJob about(job.id);
  if (CompleteIfItWas(job)) return;
  ++job.interruptions;
  if (job.state == JobState::kPreparing) ++job.progress.deaths_in_preparing;
  if (job.state == JobState::kCancelling) {
    job.state = JobState::kCancelled;
    job.error =
        absl::CancelledError("cancelled; the service ended before the job had");
    job.finished_ms = UnixMilliseconds();
    LogWarning("job {}: {}", job.id, MessageOf(job.error));
  } else if (job.progress.deaths_in_preparing >= kMostDeathsInPreparing) {
    job.state = JobState::kFailed;
    job.error = absl::InternalError(absl::StrCat(
        "the service died ", job.progress.deaths_in_preparing,
        " times in a row while it prepared this job, so that it is given up; "
        "see the scheduler's log, and 'fgnn dataset validate' of its dataset"));
    job.finished_ms = UnixMilliseconds();
    LogError("job {}: {}", job.id, MessageOf(job.error));
  } else {
    job.state = JobState::kQueued;
    job.resume = true;
    job.progress.phase = "queued";
    LogWarning(
        "job {}: the service ended while it ran, {} times by now; it "
        "goes on in {} s",
        job.id, job.interruptions, HoldAfter(job.interruptions).count());
  }
}

// Adds a job that has not ended to the jobs in memory.
void AddUnfinished(Job job, bool was_interrupted, JobTableParts& parts)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts.mutex) {
  const LogJob about(job.id);
  // The service's own folder of runs may have been moved and replaced by a
  // link.
  const std::filesystem::path own = parts.intake.OwnRunDir(job.user, job.id);
  if (job.run_dir == own) job.run_dir = CanonicalRunDir(own).string();
  // A job whose spec cannot be read fails when it starts.
  WantedDevices wanted = WantedBy(job.spec == nullptr ? JobSpec() : *job.spec,
                                  parts.order.devices());
  DeviceSet had = MakeDeviceSet(job.devices);
  ActiveJob& active = parts.states.Add(std::move(job), std::move(wanted), {});
  active.was_interrupted = was_interrupted;
  if (was_interrupted) active.devices = std::move(had);
  active.held_until = DeadlineIn(HoldAfter(active.job.interruptions));
  parts.any_submitted = true;
}

// The service may have ended after a job ended and before the jobs that wait
// for it were changed.
absl::Status RecoverDependencies(JobTableParts& parts)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts.mutex) {
  std::vector<std::pair<std::string, absl::Status>> ended;
  for (const auto& entry : parts.jobs.all()) {
    ActiveJob& active = parts.jobs.at(entry.first);
    absl::StatusOr<std::set<std::string>> unmet =
        parts.lookup.FindUnmet(active.job.after, active.job.user);
    if (unmet.ok()) {
      active.unmet = *std::move(unmet);
    } else if (absl::IsFailedPrecondition(unmet.status()) ||
               absl::IsInvalidArgument(unmet.status()) ||
               absl::IsNotFound(unmet.status())) {
      ended.emplace_back(entry.first, unmet.status());
    } else {
      return unmet.status();
    }
  }
  parts.order.SetChanged();
  for (const auto& [id, why] : ended) {
    parts.states.End(id, JobState::kFailed, why);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RecoverJobs(JobTableParts& parts) {
  const MutexLock lock(&parts.mutex);
  FGNN_RETURN_IF_ERROR(parts.account.Recover(parts.store));
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, parts.store.Unfinished());
  for (Job& job : jobs) {
    const bool had_started =
        job.state != JobState::kQueued && job.state != JobState::kPaused;
    // The service before this one found the job interrupted and ended before
    // the job had started again. The job's daemons may still work for it.
    const bool is_again =
        job.state == JobState::kQueued && !job.devices.empty();
    const bool was_interrupted = had_started || is_again;
    if (had_started) {
      SettleInterrupted(job);
      FGNN_RETURN_IF_ERROR(parts.store.Update(job));
    }
    if (was_interrupted) {
      parts.interrupted.push_back(job.id);
      parts.resumes_interrupted |= job.state == JobState::kQueued;
    }
    if (IsFinal(job.state)) continue;
    AddUnfinished(std::move(job), was_interrupted, parts);
  }
  return RecoverDependencies(parts);
}

}  // namespace fgnn
