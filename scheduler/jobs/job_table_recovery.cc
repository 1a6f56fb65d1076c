// What a start of the service makes of the jobs on disk.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/jobs/run_lock.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A job may be what takes the service down: after so many interruptions in a
// row it waits before it is started again, longer each time, so that others go
// on and somebody can cancel it. It is not failed for that alone: a service
// that is killed again and again must not cost a job.
constexpr uint32_t kFreeInterruptions = 5;
constexpr std::chrono::seconds kLongestHold{60};
// A job is failed after so many deaths of the service, one after the other,
// while the job was prepared: it would go on like this for ever. Any start that
// gets as far as RUNNING ends the count.
constexpr uint32_t kMostDeathsInPreparing = 10;
// Half-lives of a share after which it is as good as nothing.
constexpr int kRememberedHalfLives = 10;

std::chrono::seconds HoldAfter(uint32_t interruptions) {
  if (interruptions <= kFreeInterruptions) return std::chrono::seconds(0);
  const uint32_t doublings =
      std::min<uint32_t>(interruptions - kFreeInterruptions - 1, 10);
  return std::min(std::chrono::seconds(1 << doublings), kLongestHold);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobTable>> JobTable::Open(
    JobStore store, std::filesystem::path state_dir,
    const JobTableOptions& options) {
  absl::StatusOr<std::vector<ServiceDevice>> devices =
      MakeServiceDevices(options.devices);
  if (!devices.ok()) return Annotate(devices.status(), "--devices");
  FGNN_ASSIGN_OR_RETURN(JobStore reader, store.OpenReader());
  std::unique_ptr<JobTable> table(
      new JobTable(std::move(store), std::move(reader), std::move(state_dir),
                   options, *std::move(devices)));
  FGNN_RETURN_IF_ERROR(table->RecoverJobs());
  return table;
}

JobTable::JobTable(JobStore store, JobStore reader,
                   std::filesystem::path state_dir,
                   const JobTableOptions& options,
                   std::vector<ServiceDevice> devices)
    : state_dir_(std::move(state_dir)),
      max_queued_(options.max_queued),
      devices_(std::move(devices)),
      read_demand_(options.read_demand),
      service_user_(UserName(::geteuid())),
      store_(std::move(store)),
      order_until_(Deadline::max()),
      last_change_(MonotonicClock::now()),
      reader_(std::move(reader)) {}

JobTable::~JobTable() {
  SaveUnsavedLocked();
  const absl::Status merged = store_.Checkpoint();
  if (!merged.ok()) LogWarning("{}", MessageOf(merged));
}

absl::Status JobTable::RecoverJobs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_RETURN_IF_ERROR(RecoverSharesLocked());
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, store_.Unfinished());
  for (Job& job : jobs) {
    const bool was_interrupted =
        job.state != JobState::kQueued && job.state != JobState::kPaused;
    if (was_interrupted) {
      interrupted_.push_back(job.id);
      FGNN_RETURN_IF_ERROR(RecoverInterruptedLocked(job));
      resumes_interrupted_ |= job.state == JobState::kQueued;
    }
    if (IsFinal(job.state)) continue;
    // Only the service could move its own folder of runs and leave a link.
    const std::filesystem::path own = RunDirPath(state_dir_, job.id);
    if (job.run_dir == own) job.run_dir = CanonicalRunDir(own).string();
    // One whose spec cannot be read fails when it starts.
    absl::StatusOr<WantedDevices> wanted = ReadWanted(job.spec_bytes);
    if (!wanted.ok()) {
      LogWarning("job {}: {}", job.id, MessageOf(wanted.status()));
      wanted = Resolve({}, devices_);
    }
    FGNN_RETURN_IF_ERROR(wanted.status());
    absl::StatusOr<DeviceSet> had = MakeDeviceSet(job.devices);
    if (!had.ok()) {
      LogWarning("job store: job {}: it had devices that are none: {}", job.id,
                 MessageOf(had.status()));
      had = DeviceSet();
      job.devices.clear();
    }
    Active& active = AddLocked(std::move(job), *std::move(wanted));
    active.was_interrupted = was_interrupted;
    if (was_interrupted) active.devices = *std::move(had);
    active.held_until = DeadlineIn(HoldAfter(active.job.interruptions));
    any_submitted_ = true;
  }
  return RecoverDependenciesLocked();
}

absl::Status JobTable::RecoverSharesLocked() {
  const int64_t now_ms = UnixMilliseconds();
  const auto remembered = std::chrono::duration_cast<std::chrono::milliseconds>(
      UserShares::kHalfLife * kRememberedHalfLives);
  FGNN_ASSIGN_OR_RETURN(const std::vector<JobUse> uses,
                        store_.UseSince(now_ms - remembered.count()));
  for (const JobUse& use : uses) {
    shares_.Charge(use.user, use.device_seconds,
                   use.until_ms == 0 ? now_ms : use.until_ms);
  }
  return absl::OkStatus();
}

// The service may have ended between the end of a job and what follows for
// those that wait for it.
absl::Status JobTable::RecoverDependenciesLocked() {
  std::vector<std::pair<std::string, absl::Status>> ended;
  for (auto& [id, active] : active_) {
    absl::StatusOr<std::set<std::string>> unmet =
        FindUnmetLocked(active.job.after);
    if (unmet.ok()) {
      active.unmet = *std::move(unmet);
    } else if (absl::IsFailedPrecondition(unmet.status()) ||
               absl::IsInvalidArgument(unmet.status()) ||
               absl::IsNotFound(unmet.status())) {
      ended.emplace_back(id, unmet.status());
    } else {
      return unmet.status();
    }
  }
  OrderChangedLocked();
  for (const auto& [id, why] : ended) EndLocked(id, JobState::kFailed, why);
  return absl::OkStatus();
}

absl::Status JobTable::RecoverInterruptedLocked(Job& job) {
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
  return store_.Update(job);
}

}  // namespace fgnn
