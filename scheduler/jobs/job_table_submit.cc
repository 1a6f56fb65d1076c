// How jobs come into the table.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/jobs/run_lock.h"
#include "shared/base/exceptions.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

constexpr int kIdAttempts = 64;

// Whether `names`, ids or beginnings of ids, are those of `ids`, in order.
bool NamesAll(const std::vector<std::string>& names,
              const std::vector<std::string>& ids) {
  return std::equal(names.begin(), names.end(), ids.begin(), ids.end(),
                    [](const std::string& name, const std::string& id) {
                      return id.starts_with(name);
                    });
}

}  // namespace

absl::StatusOr<std::optional<Job>> JobTable::FindSameRequestLocked(
    const JobRequest& request) {
  if (request.client_key.empty()) return std::nullopt;
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> job,
                        store_.FindByClientKey(request.client_key));
  if (!job.has_value()) return std::nullopt;
  const std::filesystem::path own = RunDirPath(state_dir_, job->id);
  const bool same_folder =
      request.run_dir.empty()
          ? job->run_dir == own || job->run_dir == CanonicalRunDir(own)
          : job->run_dir == request.run_dir;
  // A run that goes on has digests and a trace where it had them before.
  const bool same_files = request.resume || (job->digest == request.digest &&
                                             job->trace == request.trace);
  if (job->spec_bytes != request.spec_bytes || !same_files ||
      job->user != request.user || job->name != request.name ||
      job->priority != request.priority || job->retries != request.retries ||
      job->time_limit_seconds != request.time_limit_seconds ||
      !NamesAll(request.after, job->after) || !same_folder) {
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
    if (!HasEndedLocked(name)) {
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

absl::StatusOr<WantedDevices> JobTable::ReadWanted(
    const std::string& spec_bytes) const {
  DeviceDemand demand;
  if (read_demand_ != nullptr) {
    FGNN_ASSIGN_OR_RETURN(demand, read_demand_(spec_bytes));
  }
  return Resolve(demand, devices_);
}

JobTable::Active& JobTable::AddLocked(Job job, WantedDevices wanted) {
  Active& active = active_[job.id];
  active.job = std::move(job);
  active.wanted = std::move(wanted);
  active.number = next_number_++;
  active.change = ++changes_;
  if (active.job.state == JobState::kQueued) {
    queue_.emplace(active.number, active.job.id);
  }
  // A damaged row has no folder.
  if (!active.job.run_dir.empty()) {
    folders_.emplace(active.job.run_dir, active.job.id);
  }
  OrderChangedLocked();
  return active;
}

// One at a time submits for all that have come by then, so that clients share
// the one sync that a commit costs, and the others wait for that alone: they
// would queue for mutex_ behind each other, and wake one after another.
absl::StatusOr<Job> JobTable::Submit(const JobRequest& request) {
  Submission mine = {.request = &request, .job = std::nullopt};
  if (request.resume) {
    mine.on_disk.user = OwnerOnDisk(request.run_dir);
    if (const auto record = ReadRunRecord(request.run_dir);
        record.has_value()) {
      mine.on_disk.digest = record->digest;
      mine.on_disk.trace = record->trace;
    }
  }
  std::unique_lock<std::mutex> lock(submissions_mutex_);
  submissions_.push_back(&mine);
  // Until somebody has, or nobody does; a commit ends by itself.
  submitted_.wait(lock, [&] { return mine.is_done || !is_submitting_; });
  if (!mine.is_done) {
    std::vector<Submission*> all;
    all.swap(submissions_);
    is_submitting_ = true;
    lock.unlock();
    SubmitAll(all);
    lock.lock();
    is_submitting_ = false;
    for (Submission* const one : all) one->is_done = true;
    submitted_.notify_all();
  }
  return *std::move(mine.job);
}

absl::Status JobTable::StoreAllLocked(const std::vector<Submission*>& all,
                                      std::vector<std::string>& added) {
  absl::Status stored = store_.Begin();
  for (Submission* const one : all) {
    one->job = stored.ok() ? SubmitOneLocked(*one, added)
                           : absl::StatusOr<Job>(stored);
    // After errors of the disk there may be no transaction any more.
    if (!store_.InTransaction() && stored.ok()) stored = one->job->status();
  }
  return stored.ok() ? store_.Commit() : stored;
}

// Others wait for this: an exception must not leave them waiting.
void JobTable::SubmitAll(const std::vector<Submission*>& all) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> added;
  const absl::Status stored =
      CatchExceptions([&] { return StoreAllLocked(all, added); });
  if (stored.ok()) {
    if (added.empty()) return;
    any_submitted_ = true;
    last_change_ = MonotonicClock::now();
    changed_.notify_all();
    return;
  }
  store_.Rollback();
  for (const std::string& id : added) {
    const auto place = active_.find(id);
    if (place == active_.end()) continue;
    queue_.erase(place->second.number);
    folders_.erase(place->second.job.run_dir);
    active_.erase(place);
  }
  OrderChangedLocked();
  for (Submission* const one : all) one->job = stored;
}

// As the newest job says that had the folder; where this service knows none, as
// the folder itself does.
absl::StatusOr<JobTable::OwnerOfRun> JobTable::FindOwnerLocked(
    const Submission& submission) {
  FGNN_ASSIGN_OR_RETURN(const std::optional<Job> job,
                        store_.FindByFolder(submission.request->run_dir));
  if (!job.has_value()) return submission.on_disk;
  return OwnerOfRun{.user = job->user,
                    .job_id = job->id,
                    .digest = job->digest,
                    .trace = job->trace};
}

absl::Status JobTable::CheckMayResume(const JobRequest& request,
                                      const OwnerOfRun& owner) const {
  if (owner.user.empty() || request.user == owner.user ||
      request.user == "root" || request.user == service_user_) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "run_dir ", request.run_dir, " is the run of user ", owner.user,
      owner.job_id.empty() ? "" : absl::StrCat(" (job ", owner.job_id, ")"),
      ", not of ",
      request.user.empty() ? "a caller without a name" : request.user,
      "; resume a copy of your own, or submit its job.yaml"));
}

absl::StatusOr<Job> JobTable::SubmitOneLocked(const Submission& submission,
                                              std::vector<std::string>& added) {
  const JobRequest& request = *submission.request;
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> same,
                        FindSameRequestLocked(request));
  if (same.has_value()) return *std::move(same);
  const auto taken = folders_.find(request.run_dir);
  if (taken != folders_.end() && request.resume) {
    const Job& has = active_.at(taken->second).job;
    FGNN_RETURN_IF_ERROR(
        CheckMayResume(request, {.user = has.user, .job_id = has.id}));
    return has;
  }
  if (taken != folders_.end()) {
    return absl::AlreadyExistsError(absl::StrCat(
        "run_dir ", request.run_dir, " is that of job ", taken->second,
        ", which has not ended; name another folder, or wait for that job"));
  }
  OwnerOfRun owner;
  if (request.resume) {
    FGNN_ASSIGN_OR_RETURN(owner, FindOwnerLocked(submission));
    FGNN_RETURN_IF_ERROR(CheckMayResume(request, owner));
  }
  if (closed_) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  const size_t waiting = active_.size() - unsaved_ends_ - running_.size();
  if (waiting >= max_queued_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting, " jobs wait, at most ", max_queued_,
                     " can; wait or cancel some"));
  }
  FGNN_ASSIGN_OR_RETURN(WantedDevices wanted, ReadWanted(request.spec_bytes));
  FGNN_RETURN_IF_ERROR(CheckCanHave(wanted, devices_));
  Job job;
  job.after = request.after;
  FGNN_ASSIGN_OR_RETURN(std::set<std::string> unmet,
                        FindUnmetLocked(job.after));
  job.submitted_ms = UnixMilliseconds();
  FGNN_ASSIGN_OR_RETURN(job.id, NewIdLocked(job.submitted_ms));
  job.spec_bytes = request.spec_bytes;
  job.run_dir = request.run_dir.empty()
                    ? CanonicalRunDir(RunDirPath(state_dir_, job.id)).string()
                    : request.run_dir;
  job.client_key = request.client_key;
  job.digest = request.digest || owner.digest;
  job.trace = request.trace || owner.trace;
  job.resume = request.resume;
  job.folder = request.resume ? FolderUse::kResume : FolderUse::kMake;
  job.dataset = request.dataset;
  job.user = request.user;
  job.name = request.name;
  job.priority = request.priority;
  job.retries = request.retries;
  job.time_limit_seconds = request.time_limit_seconds;
  job.progress.phase = "queued";
  job.progress.epochs = request.epochs;
  FGNN_RETURN_IF_ERROR(store_.Insert(job));
  added.push_back(job.id);
  AddLocked(job, std::move(wanted)).unmet = std::move(unmet);
  return job;
}

}  // namespace fgnn
