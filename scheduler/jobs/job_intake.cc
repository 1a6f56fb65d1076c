#include "scheduler/jobs/job_intake.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/user_runs.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/store/job_names.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

constexpr int kIdAttempts = 64;

// Returns whether the request asks for this job; the run folder and the jobs to
// run after are not compared.
bool IsSame(const JobRequest& request, const Job& job) {
  SubmissionOptions asked = request.options;
  // A resumed run has digests, a trace and its name if it had them before.
  if (request.resume) {
    asked.digest = job.options.digest;
    asked.trace = job.options.trace;
    if (asked.name.empty()) asked.name = job.options.name;
  }
  return job.spec != nullptr && *job.spec == *request.spec &&
         job.user == request.user && job.options == asked;
}

// Returns whether each of `words` names the job with the id in `ids` at the
// same index. Which job was the last one may have changed since the first call.
bool NamesAll(const std::vector<std::string>& words,
              const std::vector<std::string>& ids, const JobLookup& lookup) {
  return std::equal(words.begin(), words.end(), ids.begin(), ids.end(),
                    [&lookup](const std::string& word, const std::string& id) {
                      if (id.find(word) != std::string::npos) return true;
                      if (word == kLastJob) return true;
                      const absl::StatusOr<Job> job = lookup.Find(id);
                      return job.ok() && job->options.name == word;
                    });
}

}  // namespace

JobIntake::JobIntake(Options options, JobStore* store, const ActiveJobs* jobs,
                     const QueueOrder* order, JobStates* states,
                     const JobLookup* lookup)
    : options_(std::move(options)),
      service_user_(UserName(::geteuid())),
      store_(store),
      jobs_(jobs),
      order_(order),
      states_(states),
      lookup_(lookup) {}

std::filesystem::path JobIntake::OwnRunDir(const std::string& user,
                                           const std::string& id) const {
  if (user.empty() || user == "root" || user == service_user_) {
    return RunDirPath(options_.state_dir, id);
  }
  return UserRunsPath(options_.state_dir, user) / id;
}

absl::StatusOr<std::optional<Job>> JobIntake::FindSameRequest(
    const JobRequest& request) {
  if (request.client_key.empty()) return std::nullopt;
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> job,
                        store_->FindByClientKey(request.client_key));
  if (!job.has_value()) return std::nullopt;
  const auto is_in = [&job](const std::filesystem::path& own) {
    return job->run_dir == own || job->run_dir == CanonicalRunDir(own);
  };
  const bool same_folder = request.run_dir.empty()
                               ? is_in(OwnRunDir(job->user, job->id))
                               : job->run_dir == request.run_dir;
  const bool same_after = NamesAll(request.after, job->after, *lookup_);
  if (!IsSame(request, *job) || !same_after || !same_folder) {
    return absl::AlreadyExistsError(
        absl::StrCat("client key '", request.client_key, "' names job ",
                     job->id, ", which is another one; use a new key"));
  }
  const ActiveJob* const active = jobs_->Find(job->id);
  if (active != nullptr) return std::optional<Job>(lookup_->Describe(*active));
  return job;
}

absl::StatusOr<std::string> JobIntake::NewId(int64_t now_ms) {
  // Only here the clock is a source of randomness: an id has no influence on
  // what a job computes.
  uint64_t salt =
      HashString(absl::StrCat(now_ms, ".", ::getpid(), ".", ++ids_made_));
  for (int attempt = 0; attempt < kIdAttempts; ++attempt) {
    const std::string id = MakeJobId(now_ms, salt);
    FGNN_ASSIGN_OR_RETURN(const std::vector<Job> taken,
                          store_->FindByPrefix(id, 1));
    if (taken.empty()) return id;
    salt = Mix64(salt);
  }
  return absl::ResourceExhaustedError(
      "no free job id in this second; submit again");
}

absl::Status JobIntake::StoreAll(const std::vector<Submission*>& all,
                                 bool is_closed,
                                 std::vector<std::string>& added) {
  absl::Status stored = store_->Begin();
  for (Submission* const one : all) {
    one->job = stored.ok() ? SubmitOne(*one, is_closed, added)
                           : absl::StatusOr<Job>(stored);
    // A disk error may have ended the transaction.
    if (!store_->InTransaction() && stored.ok()) stored = one->job->status();
  }
  return stored.ok() ? store_->Commit() : stored;
}

// Other threads wait for the result, so no exception may leave this function.
bool JobIntake::SubmitAll(const std::vector<Submission*>& all, bool is_closed) {
  std::vector<std::string> added;
  const absl::Status stored =
      CatchExceptions([&] { return StoreAll(all, is_closed, added); });
  if (stored.ok()) return !added.empty();
  store_->Rollback();
  for (const std::string& id : added) states_->Undo(id);
  for (Submission* const one : all) one->job = stored;
  return false;
}

// The newest job that had the folder names the owner. If this service knows no
// such job, the folder itself does.
absl::StatusOr<OwnerOfRun> JobIntake::FindOwner(const Submission& submission) {
  FGNN_ASSIGN_OR_RETURN(const std::optional<Job> job,
                        store_->FindByFolder(submission.request->run_dir));
  if (!job.has_value()) return submission.on_disk;
  return OwnerOfRun{.user = job->user,
                    .job_id = job->id,
                    .name = job->options.name,
                    .digest = job->options.digest,
                    .trace = job->options.trace};
}

absl::Status JobIntake::CheckMayResume(const JobRequest& request,
                                       const OwnerOfRun& owner) const {
  if (owner.user.empty() || request.user == owner.user || request.by_operator) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "run_dir ", request.run_dir, " is the run of user ", owner.user,
      owner.job_id.empty() ? "" : absl::StrCat(" (job ", owner.job_id, ")"),
      ", not of ",
      request.user.empty() ? "a caller without a name" : request.user,
      "; resume a copy of your own, or submit its job.yaml"));
}

absl::Status JobIntake::CheckHasRoom(const JobRequest& request) const {
  const size_t waiting = jobs_->num_unfinished() - jobs_->running().size();
  if (waiting >= options_.max_queued) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting, " jobs wait, at most ", options_.max_queued,
                     " can; wait or cancel some"));
  }
  if (request.by_operator) return absl::OkStatus();
  const std::string& user = request.user;
  const auto own = std::count_if(
      jobs_->all().begin(), jobs_->all().end(), [&user](const auto& entry) {
        const Job& job = entry.second.job;
        return job.user == user && !IsFinal(job.state);
      });
  if (static_cast<size_t>(own) < options_.max_of_user) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      own, " jobs of ", user, " have not ended, at most ", options_.max_of_user,
      " of a user can (--max-jobs-per-user); wait or cancel some"));
}

absl::StatusOr<Job> JobIntake::SubmitOne(const Submission& submission,
                                         bool is_closed,
                                         std::vector<std::string>& added) {
  const JobRequest& request = *submission.request;
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> same, FindSameRequest(request));
  if (same.has_value()) return *std::move(same);
  const ActiveJob* const taken = jobs_->FindByFolder(request.run_dir);
  if (taken != nullptr && request.resume) {
    const Job& has = taken->job;
    FGNN_RETURN_IF_ERROR(
        CheckMayResume(request, {.user = has.user, .job_id = has.id}));
    if (request.changes_spec) {
      return absl::FailedPreconditionError(absl::StrCat(
          "run_dir ", request.run_dir, " is that of job ", has.id,
          ", which has not ended, so that its fields cannot change; cancel it "
          "first, then resume it"));
    }
    return has;
  }
  if (taken != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(
        "run_dir ", request.run_dir, " is that of job ", taken->job.id,
        ", which has not ended; name another folder, or wait for that job"));
  }
  OwnerOfRun owner;
  if (request.resume) {
    FGNN_ASSIGN_OR_RETURN(owner, FindOwner(submission));
    FGNN_RETURN_IF_ERROR(CheckMayResume(request, owner));
  }
  if (is_closed) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  FGNN_RETURN_IF_ERROR(CheckHasRoom(request));
  WantedDevices wanted = WantedBy(*request.spec, order_->devices());
  FGNN_RETURN_IF_ERROR(CheckCanHave(wanted, order_->devices()));
  std::vector<std::string> after = request.after;
  FGNN_ASSIGN_OR_RETURN(std::set<std::string> unmet,
                        lookup_->FindUnmet(after, request.user));
  FGNN_ASSIGN_OR_RETURN(Job job, Make(request, owner));
  job.after = std::move(after);
  FGNN_RETURN_IF_ERROR(store_->Insert(job));
  added.push_back(job.id);
  states_->Add(job, std::move(wanted), std::move(unmet));
  return job;
}

absl::StatusOr<Job> JobIntake::Make(const JobRequest& request,
                                    const OwnerOfRun& owner) {
  Job job;
  job.submitted_ms = UnixMilliseconds();
  FGNN_ASSIGN_OR_RETURN(job.id, NewId(job.submitted_ms));
  job.spec = request.spec;
  job.run_dir = request.run_dir.empty()
                    ? CanonicalRunDir(OwnRunDir(request.user, job.id)).string()
                    : request.run_dir;
  job.client_key = request.client_key;
  job.options = request.options;
  job.options.digest |= owner.digest;
  job.options.trace |= owner.trace;
  if (job.options.name.empty()) job.options.name = owner.name;
  job.resume = request.resume;
  job.folder = request.resume ? FolderUse::kResume : FolderUse::kMake;
  job.user = request.user;
  job.file_user = request.file_user;
  job.progress.phase = "queued";
  job.progress.epochs = request.spec->training.epochs;
  return job;
}

}  // namespace fgnn
