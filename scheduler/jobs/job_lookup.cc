#include "scheduler/jobs/job_lookup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/store/job_names.h"
#include "shared/base/status.h"

namespace fgnn {

Job JobLookup::Describe(const ActiveJob& active) const {
  Job job = active.job;
  if (active.runs()) job.run_seconds += active.stay->uncharged.Seconds();
  if (job.state == JobState::kQueued) {
    job.waiting_for = order_->ReasonOf(active);
  }
  return job;
}

void JobLookup::DescribeAll(const JobFilter& filter,
                            std::vector<Job>& jobs) const {
  for (Job& job : jobs) {
    const ActiveJob* const active = jobs_->Find(job.id);
    if (active != nullptr) job = Describe(*active);
  }
  if (filter.states.empty()) return;
  std::erase_if(jobs, [&](const Job& job) {
    return std::find(filter.states.begin(), filter.states.end(), job.state) ==
           filter.states.end();
  });
}

// A job that has not ended is read from memory: the store may have an older
// state.
absl::StatusOr<Job> JobLookup::Find(const std::string& word,
                                    const std::string& user) const {
  const ActiveJob* const exact = jobs_->Find(word);
  if (exact != nullptr) return Describe(*exact);
  FGNN_ASSIGN_OR_RETURN(Job job, FindNamedJob(*store_, word, user));
  const ActiveJob* const active = jobs_->Find(job.id);
  if (active != nullptr) return Describe(*active);
  if (!IsFinal(job.state)) {
    // The row is damaged and was left out at the start, so this job will never
    // run.
    job.error = absl::DataLossError(absl::StrCat(
        "job store: the row of job ", job.id, " is damaged: it says ",
        std::string(NameOf(job.state)), ", but the job is not there"));
    job.state = JobState::kFailed;
  }
  return job;
}

// A change of the order may change the reason why a queued job waits, so it
// counts too.
uint64_t JobLookup::ChangeOf(const ActiveJob& active) const {
  return active.job.state == JobState::kQueued
             ? std::max(active.change, order_->order_change())
             : active.change;
}

absl::StatusOr<JobVersion> JobLookup::FindVersion(
    const std::string& word, const std::string& user) const {
  FGNN_ASSIGN_OR_RETURN(Job job, Find(word, user));
  const ActiveJob* const active = jobs_->Find(job.id);
  const uint64_t change = active == nullptr ? UINT64_MAX : ChangeOf(*active);
  return JobVersion{std::move(job), change};
}

absl::Status JobLookup::CheckHasNotEnded(const std::string& id) const {
  if (!jobs_->HasEnded(id)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const Job found, Find(id));
  const JobState state = found.state;
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", id, " has already ", state == JobState::kCancelled ? "been " : "",
      std::string(NameOf(state))));
}

bool JobLookup::HasNews(const std::string& id, uint64_t seen) const {
  return jobs_->HasEnded(id) || ChangeOf(jobs_->at(id)) > seen;
}

absl::StatusOr<std::set<std::string>> JobLookup::FindUnmet(
    std::vector<std::string>& after, const std::string& user) const {
  std::set<std::string> unmet;
  for (std::string& name : after) {
    if (!jobs_->HasEnded(name)) {
      unmet.insert(name);
      continue;
    }
    const absl::StatusOr<Job> job = Find(name, user);
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

}  // namespace fgnn
