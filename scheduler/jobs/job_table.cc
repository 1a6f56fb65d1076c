// What clients ask of the jobs.
#include "scheduler/jobs/job_table.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxListed = 10'000;
constexpr int kIdAttempts = 64;

}  // namespace

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
      job->user != request.user || job->name != request.name ||
      job->priority != request.priority || job->retries != request.retries ||
      job->time_limit_seconds != request.time_limit_seconds ||
      job->after.size() != request.after.size() || !same_folder) {
    return absl::AlreadyExistsError(
        absl::StrCat("client key '", request.client_key, "' names job ",
                     job->id, ", which is another one; use a new key"));
  }
  const auto active = active_.find(job->id);
  if (active != active_.end()) {
    return std::optional<Job>(DescribeLocked(active->second));
  }
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
  uint64_t salt =
      HashString(absl::StrCat(now_ms, ".", ::getpid(), ".", ++ids_made_));
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

// Those of `after` that have yet to complete; makes whole ids of prefixes.
absl::StatusOr<std::set<std::string>> JobTable::FindUnmetLocked(
    std::vector<std::string>& after) {
  std::set<std::string> unmet;
  for (std::string& name : after) {
    if (active_.contains(name)) {
      unmet.insert(name);
      continue;
    }
    const absl::StatusOr<Job> job = FindOneLocked(name);
    FGNN_RETURN_IF_ERROR(Annotate(job.status(), "after"));
    name = job->id;
    if (job->state == JobState::kFailed || job->state == JobState::kCancelled) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", job->id, ", which it is to run after, ",
                       job->state == JobState::kFailed ? "" : "was ",
                       std::string(NameOf(job->state))));
    }
    if (job->state != JobState::kCompleted) unmet.insert(job->id);
  }
  return unmet;
}

JobTable::Active& JobTable::AddLocked(Job job) {
  Active& active = active_[job.id];
  active.job = std::move(job);
  active.number = next_number_++;
  active.change = ++changes_;
  if (active.job.state == JobState::kQueued) {
    queue_.emplace(active.number, active.job.id);
  }
  OrderChangedLocked();
  return active;
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
  const size_t waiting = active_.size() - (running_.empty() ? 0 : 1);
  if (waiting >= max_queued_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting, " jobs wait, at most ", max_queued_,
                     " can; wait or cancel some"));
  }
  Job job;
  job.after = request.after;
  FGNN_ASSIGN_OR_RETURN(std::set<std::string> unmet,
                        FindUnmetLocked(job.after));
  job.submitted_ms = UnixMilliseconds();
  FGNN_ASSIGN_OR_RETURN(job.id, NewIdLocked(job.submitted_ms));
  job.spec_bytes = request.spec_bytes;
  job.run_dir = request.run_dir.empty()
                    ? RunDirPath(state_dir_, job.id).string()
                    : request.run_dir;
  job.client_key = request.client_key;
  job.digest = request.digest;
  job.resume = request.resume;
  job.dataset = request.dataset;
  job.user = request.user;
  job.name = request.name;
  job.priority = request.priority;
  job.retries = request.retries;
  job.time_limit_seconds = request.time_limit_seconds;
  job.progress.phase = "queued";
  job.progress.epochs = request.epochs;
  FGNN_RETURN_IF_ERROR(store_.Insert(job));
  AddLocked(job).unmet = std::move(unmet);
  any_submitted_ = true;
  last_change_ = MonotonicClock::now();
  changed_.notify_all();
  return job;
}

// From memory while it has not ended; the store knows it as it was saved last.
absl::StatusOr<Job> JobTable::FindOneLocked(const std::string& id_or_prefix) {
  if (id_or_prefix.empty()) {
    return absl::InvalidArgumentError("job_id is empty");
  }
  const auto exact = active_.find(id_or_prefix);
  if (exact != active_.end()) return DescribeLocked(exact->second);
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
  if (active != active_.end()) return DescribeLocked(active->second);
  return std::move(found.front());
}

absl::StatusOr<JobVersion> JobTable::Get(const std::string& id_or_prefix) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_ASSIGN_OR_RETURN(Job job, FindOneLocked(id_or_prefix));
  uint64_t change = UINT64_MAX;
  if (const auto active = active_.find(job.id); active != active_.end()) {
    // Why a queued job waits is news of it, too.
    change = job.state == JobState::kQueued
                 ? std::max(active->second.change, order_change_)
                 : active->second.change;
  }
  return JobVersion{std::move(job), change};
}

absl::StatusOr<std::vector<Job>> JobTable::List(const JobFilter& filter,
                                                uint32_t limit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  JobFilter found = filter;
  if (!filter.before_id.empty()) {
    FGNN_ASSIGN_OR_RETURN(const Job before, FindOneLocked(filter.before_id));
    found.before_id = before.id;
  }
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs,
                        store_.Find(found, std::min(limit, kMaxListed)));
  for (Job& job : jobs) {
    const auto active = active_.find(job.id);
    if (active != active_.end()) job = DescribeLocked(active->second);
  }
  return jobs;
}

absl::Status JobTable::CheckHasNotEndedLocked(const std::string& id) {
  if (active_.contains(id)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const std::vector<Job> found,
                        store_.FindByPrefix(id, 1));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no job '", id, "'"));
  }
  const JobState state = found.front().state;
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", id, " has already ", state == JobState::kCancelled ? "been " : "",
      std::string(NameOf(state))));
}

absl::Status JobTable::Cancel(const std::string& id, const absl::Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status ended = CheckHasNotEndedLocked(id); !ended.ok()) {
    const absl::StatusOr<Job> job = FindOneLocked(id);
    const bool is_so = job.ok() && job->state == JobState::kCancelled;
    return is_so ? absl::OkStatus() : ended;
  }
  Active& active = active_.at(id);
  if (id == running_) {
    CancelLocked(active, why);
  } else {
    EndLocked(id, JobState::kCancelled, why);
  }
  return absl::OkStatus();
}

void JobTable::CancelLocked(Active& active, const absl::Status& why) {
  if (!active.cancel.ok()) return;
  active.cancel = why;
  OrderChangedLocked();
  GoLocked(active, JobState::kCancelling);
}

void JobTable::CancelRunning(const absl::Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!running_.empty()) CancelLocked(active_.at(running_), why);
}

absl::Status JobTable::Pause(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_RETURN_IF_ERROR(CheckHasNotEndedLocked(id));
  Active& active = active_.at(id);
  if (active.job.state == JobState::kPaused) return absl::OkStatus();
  if (active.job.state == JobState::kCancelling) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", id, " is being cancelled"));
  }
  if (id == running_) {
    active.pause = true;
    active.not_paused = absl::OkStatus();
    OrderChangedLocked();
    return absl::OkStatus();
  }
  Job paused = active.job;
  paused.state = JobState::kPaused;
  paused.progress.phase = "paused";
  FGNN_RETURN_IF_ERROR(store_.Update(paused));
  active.job.progress.phase = paused.progress.phase;
  EnqueueLocked(active, JobState::kPaused);
  return absl::OkStatus();
}

std::optional<absl::Status> JobTable::PauseAnswer(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status ended = CheckHasNotEndedLocked(id); !ended.ok()) {
    return ended;
  }
  const Active& active = active_.at(id);
  if (active.pause) return std::nullopt;
  return active.not_paused;
}

absl::Status JobTable::Continue(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_RETURN_IF_ERROR(CheckHasNotEndedLocked(id));
  Active& active = active_.at(id);
  if (active.pause) {
    active.pause = false;
    OrderChangedLocked();
    changed_.notify_all();
  }
  if (active.job.state != JobState::kPaused) return absl::OkStatus();
  if (closed_) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  Job queued = active.job;
  queued.state = JobState::kQueued;
  queued.progress.phase = "queued";
  FGNN_RETURN_IF_ERROR(store_.Update(queued));
  active.job.progress.phase = queued.progress.phase;
  EnqueueLocked(active, JobState::kQueued);
  return absl::OkStatus();
}

bool JobTable::WaitForChange(const std::string& id, uint64_t seen,
                             bool only_end, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] {
    const auto place = active_.find(id);
    if (place == active_.end()) return true;
    if (only_end) return false;
    const Active& active = place->second;
    return active.change > seen ||
           (active.job.state == JobState::kQueued && order_change_ > seen);
  });
}

void JobTable::MarkSeen(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unseen_.erase(id) > 0) changed_.notify_all();
}

JobTable::Counts JobTable::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {.queued = static_cast<uint32_t>(queue_.size()),
          .paused = static_cast<uint32_t>(active_.size() - queue_.size() -
                                          (running_.empty() ? 0 : 1)),
          .running = running_.empty() ? 0U : 1U,
          .any_submitted = any_submitted_,
          .ended_unseen = static_cast<uint32_t>(unseen_.size()),
          .last_change = last_change_};
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
