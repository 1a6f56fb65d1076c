#include "scheduler/jobs/job_table.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/jobs/job_recovery.h"
#include "scheduler/jobs/job_table_parts.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<JobTable>> JobTable::Open(
    JobStore store, std::filesystem::path state_dir,
    const JobTableOptions& options) {
  absl::StatusOr<std::vector<ServiceDevice>> devices =
      MakeServiceDevices(options.devices);
  if (!devices.ok()) return Annotate(devices.status(), "--devices");
  FGNN_ASSIGN_OR_RETURN(JobStore reader, store.OpenReader());
  std::unique_ptr<JobTable> table(
      new JobTable(std::make_unique<JobTableParts>(
                       std::move(store),
                       JobIntake::Options{.state_dir = std::move(state_dir),
                                          .max_queued = options.max_queued,
                                          .max_of_user = options.max_of_user},
                       *std::move(devices), options.hosts),
                   std::move(reader)));
  FGNN_RETURN_IF_ERROR(RecoverJobs(*table->parts_));
  return table;
}

JobTable::JobTable(std::unique_ptr<JobTableParts> parts, JobStore reader)
    : parts_(std::move(parts)),
      dispatcher_(parts_.get()),
      lister_(std::move(reader)) {}

JobTable::~JobTable() {
  parts_->jobs.SaveUnsaved();
  const absl::Status merged = parts_->store.Checkpoint();
  if (!merged.ok()) LogWarning("{}", MessageOf(merged));
}

const std::vector<std::string>& JobTable::interrupted() const {
  return parts_->interrupted;
}

absl::StatusOr<Job> JobTable::Submit(const JobRequest& request) {
  Submission mine = {.request = &request};
  if (request.resume) {
    mine.on_disk.user = OwnerOnDisk(request.run_dir);
    if (const auto record = ReadRunRecord(request.run_dir);
        record.has_value()) {
      mine.on_disk.digest = record->digest;
      mine.on_disk.trace = record->trace;
    }
  }
  return submissions_.Submit(
      std::move(mine), [this](const std::vector<Submission*>& all) {
        const MutexLock lock(&parts_->mutex);
        if (!parts_->intake.SubmitAll(all, parts_->closed)) return;
        parts_->any_submitted = true;
        parts_->last_submission = MonotonicClock::now();
        parts_->jobs.Wake();
      });
}

absl::StatusOr<std::optional<Job>> JobTable::FindSubmitted(
    const JobRequest& request) {
  const MutexLock lock(&parts_->mutex);
  return parts_->intake.FindSameRequest(request);
}

absl::StatusOr<JobVersion> JobTable::Get(const std::string& word,
                                         const std::string& user) {
  const MutexLock lock(&parts_->mutex);
  return parts_->lookup.FindVersion(word, user);
}

absl::StatusOr<std::vector<Job>> JobTable::List(const JobFilter& filter,
                                                uint32_t limit) {
  JobFilter found = filter;
  if (!filter.before_id.empty()) {
    FGNN_ASSIGN_OR_RETURN(const JobVersion before, Get(filter.before_id));
    found.before_id = before.job.id;
  }
  return lister_.List(found, limit, [&](std::vector<Job>& jobs) {
    const MutexLock lock(&parts_->mutex);
    parts_->lookup.DescribeAll(filter, jobs);
  });
}

JobsNow JobTable::Now(size_t most_waiting) const {
  const MutexLock lock(&parts_->mutex);
  JobsNow now;
  for (const std::string& id : parts_->jobs.running()) {
    now.running.push_back(parts_->lookup.Describe(parts_->jobs.at(id)));
  }
  for (const std::string& id : parts_->order.First(most_waiting)) {
    now.waiting.push_back(parts_->lookup.Describe(parts_->jobs.at(id)));
  }
  return now;
}

absl::Status JobTable::Cancel(const std::string& id, const absl::Status& why) {
  const MutexLock lock(&parts_->mutex);
  if (absl::Status ended = parts_->lookup.CheckHasNotEnded(id); !ended.ok()) {
    const absl::StatusOr<Job> job = parts_->lookup.Find(id);
    const bool is_so = job.ok() && job->state == JobState::kCancelled;
    return is_so ? absl::OkStatus() : ended;
  }
  parts_->states.Cancel(parts_->jobs.at(id), why);
  return absl::OkStatus();
}

absl::StatusOr<Job> JobTable::FindRemovable(const std::string& id) {
  const MutexLock lock(&parts_->mutex);
  FGNN_ASSIGN_OR_RETURN(Job job, parts_->lookup.Find(id));
  FGNN_RETURN_IF_ERROR(CheckMayRemove(parts_->store, job));
  if (parts_->jobs.Find(id) == nullptr) return job;
  return absl::UnavailableError(absl::StrCat(
      "the end of job ", id,
      " is not stored yet; make room on the disk of the state folder"));
}

absl::StatusOr<RemovedRun> JobTable::Remove(
    const std::string& id,
    absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove) {
  const auto forget = [this](const std::string& job_id) -> absl::Status {
    const MutexLock lock(&parts_->mutex);
    FGNN_RETURN_IF_ERROR(parts_->store.Delete(job_id));
    if (parts_->states.ended().MarkSeen(job_id)) parts_->jobs.Wake();
    return absl::OkStatus();
  };
  return DeleteJob([&] { return FindRemovable(id); }, remove, forget);
}

void JobTable::CancelRunning(const absl::Status& why) {
  const MutexLock lock(&parts_->mutex);
  for (const std::string& id : parts_->jobs.running()) {
    parts_->states.Cancel(parts_->jobs.at(id), why);
  }
}

absl::Status JobTable::Pause(const std::string& id) {
  const MutexLock lock(&parts_->mutex);
  FGNN_RETURN_IF_ERROR(parts_->lookup.CheckHasNotEnded(id));
  ActiveJob& active = parts_->jobs.at(id);
  const bool lets_go = parts_->order.MayTakeOver(active) && !parts_->closed;
  return parts_->states.Pause(active, lets_go);
}

std::optional<absl::Status> JobTable::PauseAnswer(const std::string& id) {
  const MutexLock lock(&parts_->mutex);
  if (absl::Status ended = parts_->lookup.CheckHasNotEnded(id); !ended.ok()) {
    return ended;
  }
  const ActiveJob& active = parts_->jobs.at(id);
  if (active.pause) return std::nullopt;
  return active.not_paused;
}

absl::Status JobTable::Continue(const std::string& id) {
  const MutexLock lock(&parts_->mutex);
  FGNN_RETURN_IF_ERROR(parts_->lookup.CheckHasNotEnded(id));
  return parts_->states.Continue(parts_->jobs.at(id), parts_->closed);
}

bool JobTable::WaitForChange(const std::string& id, uint64_t seen,
                             bool only_end, Deadline deadline) {
  MutexLock lock(&parts_->mutex);
  return parts_->changes.WaitUntil(
      &lock, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->mutex) {
        return only_end ? parts_->jobs.HasEnded(id)
                        : parts_->lookup.HasNews(id, seen);
      });
}

std::map<std::string, absl::StatusOr<JobVersion>> JobTable::WaitForChanges(
    const std::map<std::string, uint64_t>& seen, Deadline deadline) {
  const auto has_one_ended = [&]()
                                 ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->mutex) {
                                   for (const auto& [id, change] : seen) {
                                     if (parts_->jobs.HasEnded(id)) return true;
                                   }
                                   return false;
                                 };
  MutexLock lock(&parts_->mutex);
  parts_->changes.WaitUntil(&lock, deadline, has_one_ended);
  std::map<std::string, absl::StatusOr<JobVersion>> changed;
  for (const auto& [id, change] : seen) {
    absl::StatusOr<JobVersion> found = parts_->lookup.FindVersion(id);
    const bool is_news = !found.ok() || found->change > change;
    if (is_news) changed.emplace(id, std::move(found));
  }
  return changed;
}

std::vector<Job> JobTable::UnfinishedOfOthers(const std::string& user) const {
  const MutexLock lock(&parts_->mutex);
  std::vector<Job> others;
  for (const auto& [id, active] : parts_->jobs.all()) {
    if (active.job.user != user && !active.has_ended()) {
      others.push_back(active.job);
    }
  }
  return others;
}

void JobTable::MarkSeen(const std::string& id) {
  const MutexLock lock(&parts_->mutex);
  if (parts_->states.ended().MarkSeen(id)) parts_->jobs.Wake();
}

JobTable::Counts JobTable::counts() const {
  const MutexLock lock(&parts_->mutex);
  const EndedJobs& ended = parts_->states.ended();
  const size_t queued = parts_->jobs.queued().size();
  const size_t running = parts_->jobs.running().size();
  return {.queued = static_cast<uint32_t>(queued),
          .paused = static_cast<uint32_t>(parts_->jobs.num_unfinished() -
                                          queued - running),
          .running = static_cast<uint32_t>(running),
          .any_submitted = parts_->any_submitted,
          .ended_unseen = static_cast<uint32_t>(ended.num_unseen()),
          .completed = ended.num(JobState::kCompleted),
          .failed = ended.num(JobState::kFailed),
          .cancelled = ended.num(JobState::kCancelled),
          .last_change =
              std::max(parts_->jobs.last_change(), parts_->last_submission)};
}

void JobTable::Close(bool keeps_jobs) {
  const MutexLock lock(&parts_->mutex);
  parts_->closed = true;
  parts_->keeps_jobs = keeps_jobs;
  parts_->jobs.Wake();
}

bool JobTable::CloseIfEmpty() {
  const MutexLock lock(&parts_->mutex);
  if (!parts_->jobs.all().empty()) return false;
  parts_->closed = true;
  parts_->jobs.Wake();
  return true;
}

}  // namespace fgnn
