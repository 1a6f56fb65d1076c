#include "scheduler/jobs/job_steps.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

constexpr size_t kMaxUnseen = 10'000;

}  // namespace

void JobSteps::Cancel(ActiveJob& active, const absl::Status& why) {
  if (!active.cancel.ok()) return;
  active.cancel = why;
  queue_->SetChanged();
  jobs_->Go(active, JobState::kCancelling);
}

void JobSteps::Enqueue(ActiveJob& active, JobState state) {
  if (active.runs()) {
    active.job.resume = true;
    active.pause = false;
    active.job.progress.executors.clear();
    active.job.progress.edges_per_second = 0;
    active.job.progress.seconds_left = -1;
    active.job.progress.phase = std::string(NameOf(state));
    queue_->ReleaseDevices(active);
  }
  active.job.devices.clear();
  if (state == JobState::kQueued) {
    queue_->Add(active);
  } else {
    queue_->Remove(active);
  }
  queue_->SetChanged();
  jobs_->Go(active, state);
}

void JobSteps::End(const std::string& id, JobState state,
                   const absl::Status& error) {
  std::vector<std::string> dependents = jobs_->DependentsOf(id);
  EndOne(id, state, error);
  if (state == JobState::kCompleted) {
    for (const std::string& dependent : dependents) {
      jobs_->at(dependent).unmet.erase(id);
    }
    return;
  }
  while (!dependents.empty()) {
    const std::string ended = std::move(dependents.back());
    dependents.pop_back();
    if (jobs_->HasEnded(ended)) continue;
    for (std::string& more : jobs_->DependentsOf(ended)) {
      dependents.push_back(std::move(more));
    }
    EndOne(ended, JobState::kFailed,
           absl::FailedPreconditionError(absl::StrCat(
               "job ", id, ", which it was to run after, ",
               state == JobState::kFailed ? "failed" : "was cancelled")));
  }
}

void JobSteps::EndOne(const std::string& id, JobState state,
                      const absl::Status& error) {
  if (jobs_->HasEnded(id)) return;
  ActiveJob& active = jobs_->at(id);
  Job& job = active.job;
  if (active.runs()) queue_->ReleaseDevices(active);
  queue_->Remove(active);
  job.error = error;
  job.finished_ms = UnixMilliseconds();
  job.progress.executors.clear();
  job.progress.seconds_left = 0;
  job.progress.edges_per_second = 0;
  job.progress.phase = std::string(NameOf(state));
  queue_->SetChanged();
  jobs_->Go(active, state);
  ++ended_[state];
  if (unseen_.size() < kMaxUnseen) unseen_.insert(id);
  jobs_->Leave(active);
}

}  // namespace fgnn
