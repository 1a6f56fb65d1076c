#include "scheduler/jobs/active_jobs.h"

#include <utility>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

ActiveJobs::ActiveJobs(JobStore* store, JobChanges* changes)
    : store_(store), changes_(changes), last_change_(MonotonicClock::now()) {}

ActiveJob* ActiveJobs::Find(const std::string& id) {
  const auto place = jobs_.find(id);
  return place == jobs_.end() ? nullptr : &place->second;
}

const ActiveJob* ActiveJobs::Find(const std::string& id) const {
  const auto place = jobs_.find(id);
  return place == jobs_.end() ? nullptr : &place->second;
}

bool ActiveJobs::HasEnded(const std::string& id) const {
  const ActiveJob* const active = Find(id);
  return active == nullptr || active->has_ended();
}

const ActiveJob* ActiveJobs::FindByFolder(const std::string& run_dir) const {
  const auto folder = folders_.find(run_dir);
  return folder == folders_.end() ? nullptr : &jobs_.at(folder->second);
}

std::vector<std::string> ActiveJobs::DependentsOf(const std::string& id) const {
  std::vector<std::string> dependents;
  for (const auto& [other, active] : jobs_) {
    if (active.unmet.contains(id)) dependents.push_back(other);
  }
  return dependents;
}

ActiveJob& ActiveJobs::Add(Job job, WantedDevices wanted) {
  ActiveJob& active = jobs_[job.id];
  active.job = std::move(job);
  active.wanted = std::move(wanted);
  active.number = next_number_++;
  active.change = changes_->Next();
  // A damaged row has no folder.
  if (!active.job.run_dir.empty()) {
    folders_.emplace(active.job.run_dir, active.job.id);
  }
  Index(active);
  return active;
}

void ActiveJobs::Remove(const std::string& id) {
  const auto place = jobs_.find(id);
  if (place == jobs_.end()) return;
  SetQueued(place->second, false);
  folders_.erase(place->second.job.run_dir);
  jobs_.erase(place);
}

void ActiveJobs::SetQueued(const ActiveJob& active, bool is_queued) {
  const int32_t priority = active.job.options.priority;
  if (is_queued) {
    if (queued_.emplace(active.number, &active).second) {
      ++num_queued_of_[priority];
    }
  } else if (queued_.erase(active.number) > 0) {
    if (--num_queued_of_[priority] == 0) num_queued_of_.erase(priority);
  }
}

void ActiveJobs::Index(const ActiveJob& active) {
  SetQueued(active, active.job.state == JobState::kQueued);
  if (active.runs()) {
    running_.insert(active.job.id);
  } else {
    running_.erase(active.job.id);
  }
}

void ActiveJobs::Go(ActiveJob& active, JobState state) {
  const LogJob about(active.job.id);
  const bool is_allowed = CanGo(active.job.state, state);
  if (is_allowed) {
    active.job.state = state;
  } else {
    LogError("job {}: no way from {} to {}", active.job.id,
             NameOf(active.job.state), NameOf(state));
  }
  // The step may have taken the job's devices.
  Index(active);
  if (!is_allowed) return;
  last_change_ = MonotonicClock::now();
  Save(active);
  Announce(active);
}

void ActiveJobs::Announce(ActiveJob& active) {
  active.change = changes_->Next();
  Wake();
}

// The job goes on if its state cannot be written: the state is in memory, and
// the service tries again later. After a restart of the service the job counts
// as interrupted, which is safe.
void ActiveJobs::Save(ActiveJob& active) {
  const std::string& id = active.job.id;
  const LogJob about(id);
  const absl::Status saved = store_->Update(active.job);
  if (saved.ok()) {
    unsaved_.erase(id);
  } else if (unsaved_.insert(id).second) {
    LogError("job {}: its state is kept in memory, to be stored later: {}", id,
             MessageOf(saved));
  }
}

void ActiveJobs::SaveUnsaved() {
  const std::vector<std::string> unsaved(unsaved_.begin(), unsaved_.end());
  for (const std::string& id : unsaved) {
    const LogJob about(id);
    ActiveJob& active = jobs_.at(id);
    Save(active);
    if (unsaved_.contains(id)) continue;  // The disk is still full.
    LogInfo("job {}: its state is stored now", id);
    if (!active.has_ended()) continue;
    --unsaved_ends_;
    Forget(id);
  }
}

void ActiveJobs::Leave(ActiveJob& active) {
  const std::string id = active.job.id;
  if (const auto folder = folders_.find(active.job.run_dir);
      folder != folders_.end() && folder->second == id) {
    folders_.erase(folder);
  }
  if (unsaved_.contains(id)) {
    ++unsaved_ends_;
  } else {
    Forget(id);
  }
}

void ActiveJobs::Forget(const std::string& id) {
  SetQueued(jobs_.at(id), false);
  running_.erase(id);
  jobs_.erase(id);
  Wake();
}

}  // namespace fgnn
