// What clients ask of the jobs.
#include "scheduler/jobs/job_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxListed = 10'000;

}  // namespace

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
  Job& job = found.front();
  if (!IsFinal(job.state)) {
    // A damaged row, which was left out at the start: nothing runs this job.
    job.error = absl::DataLossError(absl::StrCat(
        "job store: the row of job ", job.id, " is damaged: it says ",
        std::string(NameOf(job.state)), ", but the job is not there"));
    job.state = JobState::kFailed;
  }
  return std::move(job);
}

absl::StatusOr<JobVersion> JobTable::Get(const std::string& id_or_prefix) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindVersionLocked(id_or_prefix);
}

absl::StatusOr<JobVersion> JobTable::FindVersionLocked(
    const std::string& id_or_prefix) {
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
  JobFilter found = filter;
  if (!filter.before_id.empty()) {
    FGNN_ASSIGN_OR_RETURN(const JobVersion before, Get(filter.before_id));
    found.before_id = before.job.id;
  }
  const uint32_t page = std::min(limit, kMaxListed);
  while (true) {
    std::vector<Job> jobs;
    {
      const std::lock_guard<std::mutex> lock(reader_mutex_);
      FGNN_ASSIGN_OR_RETURN(jobs, reader_.Find(found, page));
    }
    const bool may_be_more = !jobs.empty() && jobs.size() >= page;
    if (may_be_more) found.before_id = jobs.back().id;
    DescribeAll(filter, jobs);
    // An empty page is the last one to a client.
    if (!jobs.empty() || !may_be_more) return jobs;
  }
}

void JobTable::DescribeAll(const JobFilter& filter, std::vector<Job>& jobs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Job& job : jobs) {
    const auto active = active_.find(job.id);
    if (active != active_.end()) job = DescribeLocked(active->second);
  }
  if (filter.states.empty()) return;
  std::erase_if(jobs, [&](const Job& job) {
    return std::find(filter.states.begin(), filter.states.end(), job.state) ==
           filter.states.end();
  });
}

bool JobTable::HasEndedLocked(const std::string& id) const {
  const auto active = active_.find(id);
  return active == active_.end() || active->second.has_ended();
}

absl::Status JobTable::CheckHasNotEndedLocked(const std::string& id) {
  if (!HasEndedLocked(id)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const Job found, FindOneLocked(id));
  const JobState state = found.state;
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
  if (active.runs()) {
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
  for (const std::string& id : running_) CancelLocked(active_.at(id), why);
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
  // The daemons of one that was interrupted may be at work: it is started, and
  // lets go of them as any that runs.
  const bool may_have_daemons = MayTakeOverLocked(active) && !closed_;
  if (active.runs() || may_have_daemons) {
    active.pause = true;
    active.not_paused = absl::OkStatus();
    OrderChangedLocked();
    changed_.notify_all();
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
    if (HasEndedLocked(id)) return true;
    if (only_end) return false;
    const Active& active = active_.at(id);
    return active.change > seen ||
           (active.job.state == JobState::kQueued && order_change_ > seen);
  });
}

std::map<std::string, absl::StatusOr<JobVersion>> JobTable::WaitForChanges(
    const std::map<std::string, uint64_t>& seen, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, deadline, [&] {
    return std::any_of(seen.begin(), seen.end(), [&](const auto& entry) {
      return HasEndedLocked(entry.first);
    });
  });
  std::map<std::string, absl::StatusOr<JobVersion>> changed;
  for (const auto& [id, change] : seen) {
    absl::StatusOr<JobVersion> found = FindVersionLocked(id);
    const bool is_news = !found.ok() || found->change > change;
    if (is_news) changed.emplace(id, std::move(found));
  }
  return changed;
}

std::vector<Job> JobTable::UnfinishedOfOthers(const std::string& user) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Job> others;
  for (const auto& [id, active] : active_) {
    if (active.job.user != user && !active.has_ended()) {
      others.push_back(active.job);
    }
  }
  return others;
}

void JobTable::MarkSeen(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unseen_.erase(id) > 0) changed_.notify_all();
}

JobTable::Counts JobTable::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {.queued = static_cast<uint32_t>(queue_.size()),
          .paused = static_cast<uint32_t>(active_.size() - unsaved_ends_ -
                                          queue_.size() - running_.size()),
          .running = static_cast<uint32_t>(running_.size()),
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
