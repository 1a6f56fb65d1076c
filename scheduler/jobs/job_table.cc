#include "scheduler/jobs/job_table.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxListed = 10'000;
constexpr size_t kMaxUnseen = 10'000;
constexpr int kIdAttempts = 64;
// A job may be what takes the service down: after so many interruptions in a
// row it waits before it is started again, longer each time, so that others go
// on and somebody can cancel it. It is not failed: a service that is killed
// again and again must not cost a job.
constexpr uint32_t kFreeInterruptions = 5;
constexpr std::chrono::seconds kLongestHold{60};

std::chrono::seconds HoldAfter(uint32_t interruptions) {
  if (interruptions <= kFreeInterruptions) return std::chrono::seconds(0);
  const uint32_t doublings =
      std::min<uint32_t>(interruptions - kFreeInterruptions - 1, 10);
  return std::min(std::chrono::seconds(1 << doublings), kLongestHold);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobTable>> JobTable::Open(
    JobStore store, std::filesystem::path state_dir, size_t max_queued) {
  std::unique_ptr<JobTable> table(
      new JobTable(std::move(store), std::move(state_dir), max_queued));
  FGNN_RETURN_IF_ERROR(table->RecoverJobs());
  return table;
}

JobTable::JobTable(JobStore store, std::filesystem::path state_dir,
                   size_t max_queued)
    : state_dir_(std::move(state_dir)),
      max_queued_(max_queued),
      store_(std::move(store)),
      last_change_(MonotonicClock::now()) {}

absl::Status JobTable::RecoverJobs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, store_.Unfinished());
  for (Job& job : jobs) {
    if (job.state != JobState::kQueued) {
      interrupted_.push_back(job.id);
      FGNN_RETURN_IF_ERROR(RecoverInterruptedLocked(job));
      resumes_interrupted_ |= job.state == JobState::kQueued;
    }
    if (job.state != JobState::kQueued) continue;
    // Those that ran are the oldest, so that they come first again.
    queue_.push_back(job.id);
    const std::string id = job.id;
    Active& active = active_[id];
    active.job = std::move(job);
    active.held_until = DeadlineIn(HoldAfter(active.job.interruptions));
    any_submitted_ = true;
  }
  return absl::OkStatus();
}

absl::Status JobTable::RecoverInterruptedLocked(Job& job) {
  ++job.interruptions;
  if (job.state == JobState::kCancelling) {
    job.state = JobState::kCancelled;
    job.error =
        absl::CancelledError("cancelled; the service ended before the job had");
    job.finished_ms = UnixMilliseconds();
    LogWarning("job {}: {}", job.id, MessageOf(job.error));
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

absl::StatusOr<std::optional<Job>> JobTable::FindSameRequestLocked(
    const JobRequest& request) {
  if (request.client_key.empty()) return std::nullopt;
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> job,
                        store_.FindByClientKey(request.client_key));
  if (!job.has_value()) return std::nullopt;
  const bool same_folder =
      request.run_dir.empty()
          ? job->run_dir == RunDirPath(state_dir_, job->id).string()
          : job->run_dir == request.run_dir;
  if (job->spec_bytes != request.spec_bytes || job->digest != request.digest ||
      !same_folder) {
    return absl::AlreadyExistsError(
        absl::StrCat("client key '", request.client_key, "' names job ",
                     job->id, ", which is another one; use a new key"));
  }
  const auto active = active_.find(job->id);
  if (active != active_.end()) return std::optional<Job>(active->second.job);
  return job;
}

absl::StatusOr<std::optional<Job>> JobTable::FindSubmitted(
    const JobRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindSameRequestLocked(request);
}

absl::StatusOr<std::string> JobTable::NewIdLocked(int64_t now_ms) {
  // The only use of the clock as a source of chance: an id is not part of what
  // a job computes.
  uint64_t salt = HashString(absl::StrCat(now_ms, ".", ::getpid()));
  for (int attempt = 0; attempt < kIdAttempts; ++attempt) {
    const std::string id = MakeJobId(now_ms, salt);
    FGNN_ASSIGN_OR_RETURN(const std::vector<Job> taken,
                          store_.FindByPrefix(id, 1));
    if (taken.empty()) return id;
    salt = Mix64(salt);
  }
  return absl::ResourceExhaustedError(
      "no free job id in this second; submit again");
}

absl::StatusOr<Job> JobTable::Submit(const JobRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> same,
                        FindSameRequestLocked(request));
  if (same.has_value()) return *std::move(same);
  if (request.resume) {
    for (const auto& [id, active] : active_) {
      if (active.job.run_dir == request.run_dir) return active.job;
    }
  }
  if (closed_) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  if (queue_.size() >= max_queued_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(queue_.size(), " jobs wait, at most ", max_queued_,
                     " can; wait or cancel some"));
  }
  Job job;
  job.submitted_ms = UnixMilliseconds();
  FGNN_ASSIGN_OR_RETURN(job.id, NewIdLocked(job.submitted_ms));
  job.spec_bytes = request.spec_bytes;
  job.run_dir = request.run_dir.empty()
                    ? RunDirPath(state_dir_, job.id).string()
                    : request.run_dir;
  job.client_key = request.client_key;
  job.digest = request.digest;
  job.resume = request.resume;
  job.progress.phase = "queued";
  job.progress.epochs = request.epochs;
  FGNN_RETURN_IF_ERROR(store_.Insert(job));
  Active& active = active_[job.id];
  active.job = job;
  queue_.push_back(job.id);
  any_submitted_ = true;
  last_change_ = MonotonicClock::now();
  changed_.notify_all();
  return job;
}

absl::StatusOr<JobVersion> JobTable::Get(const std::string& id_or_prefix) {
  if (id_or_prefix.empty()) {
    return absl::InvalidArgumentError("job_id is empty");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto exact = active_.find(id_or_prefix);
  if (exact != active_.end()) {
    return JobVersion{exact->second.job, exact->second.change};
  }
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> found,
                        store_.FindByPrefix(id_or_prefix, 2));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no job '", id_or_prefix, "'; 'fgnn jobs' lists those there are"));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than one job begins with '", id_or_prefix,
                     "'; write more of the id"));
  }
  const auto active = active_.find(found.front().id);
  if (active != active_.end()) {
    return JobVersion{active->second.job, active->second.change};
  }
  return JobVersion{std::move(found.front()), UINT64_MAX};
}

absl::StatusOr<std::vector<Job>> JobTable::List(uint32_t limit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs,
                        store_.Newest(std::min(limit, kMaxListed)));
  for (Job& job : jobs) {
    const auto active = active_.find(job.id);
    if (active != active_.end()) job = active->second.job;
  }
  return jobs;
}

absl::Status JobTable::Cancel(const std::string& id, const absl::Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto place = active_.find(id);
  if (place == active_.end()) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<Job> found,
                          store_.FindByPrefix(id, 1));
    if (found.empty()) {
      return absl::NotFoundError(absl::StrCat("no job '", id, "'"));
    }
    if (found.front().state == JobState::kCancelled) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", id, " has already ",
        found.front().state == JobState::kFailed ? "failed" : "completed"));
  }
  Active& active = place->second;
  if (active.job.state == JobState::kQueued) {
    EndLocked(id, JobState::kCancelled, why);
  } else {
    CancelLocked(active, why);
  }
  return absl::OkStatus();
}

void JobTable::CancelLocked(Active& active, const absl::Status& why) {
  if (!active.cancel.ok()) return;
  active.cancel = why;
  GoLocked(active, JobState::kCancelling);
}

void JobTable::CancelRunning(const absl::Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [id, active] : active_) {
    if (active.job.state != JobState::kQueued) CancelLocked(active, why);
  }
}

bool JobTable::WaitForChange(const std::string& id, uint64_t seen,
                             bool only_end, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] {
    const auto active = active_.find(id);
    return active == active_.end() ||
           (!only_end && active->second.change > seen);
  });
}

void JobTable::MarkSeen(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unseen_.erase(id) > 0) changed_.notify_all();
}

JobTable::Counts JobTable::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {.queued = static_cast<uint32_t>(queue_.size()),
          .running = static_cast<uint32_t>(active_.size() - queue_.size()),
          .any_submitted = any_submitted_,
          .ended_unseen = static_cast<uint32_t>(unseen_.size()),
          .last_change = last_change_};
}

std::optional<Job> JobTable::StartNext(Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<std::string>::iterator next;
  while (true) {
    const Deadline now = MonotonicClock::now();
    next = std::find_if(queue_.begin(), queue_.end(), [&](const auto& id) {
      return active_.at(id).held_until <= now;
    });
    if (closed_) return std::nullopt;
    if (next != queue_.end()) break;
    if (now >= deadline) return std::nullopt;
    Deadline until = deadline;
    for (const std::string& id : queue_) {
      until = std::min(until, active_.at(id).held_until);
    }
    changed_.wait_until(lock, until);
  }
  Active& active = active_.at(*next);
  queue_.erase(next);
  active.job.started_ms = UnixMilliseconds();
  active.job.progress.phase = "preparing";
  GoLocked(active, JobState::kPreparing);
  return active.job;
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
  ++active.change;
  last_change_ = MonotonicClock::now();
  SaveLocked(active.job);
  changed_.notify_all();
}

// The job goes on if its state cannot be written: it is in memory, and after a
// restart it counts as interrupted, which is the safe side.
void JobTable::SaveLocked(const Job& job) {
  const absl::Status saved = store_.Update(job);
  if (!saved.ok()) LogError("job {}: {}", job.id, MessageOf(saved));
}

void JobTable::ForgetInterruptions(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  if (active == active_.end() || active->second.job.interruptions == 0) return;
  active->second.job.interruptions = 0;
  SaveLocked(active->second.job);
}

void JobTable::MarkRunning(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  // Somebody may have cancelled it meanwhile: then it stays CANCELLING.
  if (active == active_.end() ||
      active->second.job.state != JobState::kPreparing) {
    return;
  }
  GoLocked(active->second, JobState::kRunning);
}

void JobTable::UpdateProgress(const std::string& id,
                              const std::function<void(JobProgress&)>& update) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto active = active_.find(id);
  if (active == active_.end()) return;
  update(active->second.job.progress);
  ++active->second.change;
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

void JobTable::EndLocked(const std::string& id, JobState state,
                         const absl::Status& error) {
  const auto place = active_.find(id);
  if (place == active_.end()) return;
  queue_.erase(std::remove(queue_.begin(), queue_.end(), id), queue_.end());
  Job& job = place->second.job;
  job.error = error;
  job.finished_ms = UnixMilliseconds();
  job.progress.executors.clear();
  job.progress.seconds_left = 0;
  job.progress.edges_per_second = 0;
  job.progress.phase = std::string(NameOf(state));
  GoLocked(place->second, state);
  active_.erase(place);
  if (unseen_.size() < kMaxUnseen) unseen_.insert(id);
  changed_.notify_all();
}

void JobTable::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool JobTable::CloseIfEmpty() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!active_.empty()) return false;
  closed_ = true;
  changed_.notify_all();
  return true;
}

bool JobTable::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

}  // namespace fgnn
