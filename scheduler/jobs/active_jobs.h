// The jobs that have not ended, in memory, with their rows in the store.
#ifndef FGNN_SCHEDULER_JOBS_ACTIVE_JOBS_H_
#define FGNN_SCHEDULER_JOBS_ACTIVE_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/job_changes.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex. Only JobStates adds,
// forgets and moves jobs. References to jobs stay valid until the job is
// forgotten, by the functions of JobStates or by SaveUnsaved().
class ActiveJobs {
 public:
  // Borrows both.
  ActiveJobs(JobStore* store, JobChanges* changes);

  // Returns nullptr if the job is not here.
  ActiveJob* Find(const std::string& id);
  const ActiveJob* Find(const std::string& id) const;
  // Returns the job, which has to be here.
  ActiveJob& at(const std::string& id) { return jobs_.at(id); }
  const ActiveJob& at(const std::string& id) const { return jobs_.at(id); }
  // Returns all jobs; none is here once all have ended and all ends are stored.
  const std::map<std::string, ActiveJob>& all() const { return jobs_; }
  // Returns the jobs that are QUEUED, by submission number.
  const std::map<uint64_t, const ActiveJob*>& queued() const { return queued_; }
  // Returns the ids of the jobs that have devices.
  const std::set<std::string>& running() const { return running_; }
  // Returns whether a queued job has a higher priority than this one. Is quick,
  // while the order of thousands of jobs takes milliseconds.
  bool HasQueuedAbove(int32_t priority) const {
    return num_queued_of_.upper_bound(priority) != num_queued_of_.end();
  }
  // Returns true also for a job that is not here.
  bool HasEnded(const std::string& id) const;
  // Returns nullptr if no job here has the run folder.
  const ActiveJob* FindByFolder(const std::string& run_dir) const;
  // Returns the ids of the jobs that wait for this one to complete.
  std::vector<std::string> DependentsOf(const std::string& id) const;
  // Returns how many jobs have not ended.
  size_t num_unfinished() const { return jobs_.size() - unsaved_ends_; }

  // Stores what has changed of the job. If that fails, SaveUnsaved() tries
  // again.
  void Save(ActiveJob& active);
  void SaveUnsaved();
  // Notes that the job has changed for its watchers, and wakes them.
  void Announce(ActiveJob& active);
  // Wakes the threads that wait for something else of a job.
  void Wake() { changes_->Notify(); }
  // Returns the time of the last change of any job's state.
  Deadline last_change() const { return last_change_; }

 private:
  friend class JobStates;
  // Adds a job that the store knows, and gives it the next number.
  ActiveJob& Add(Job job, WantedDevices wanted);
  // Undoes Add().
  void Remove(const std::string& id);
  // Brings the job into another state, stores it, and wakes the threads that
  // wait for a change. A step that CanGo() forbids is a bug, and the job stays
  // in its state.
  void Go(ActiveJob& active, JobState state);
  // Frees the run folder of a job that has ended. The job itself is forgotten
  // once the store knows its end.
  void Leave(ActiveJob& active);
  void Forget(const std::string& id);
  // Finds the job again by its state and by whether it has devices.
  void Index(const ActiveJob& active);
  void SetQueued(const ActiveJob& active, bool is_queued);

  JobStore* const store_;
  JobChanges* const changes_;
  // Jobs that have not ended, and those whose end is still to be stored.
  std::map<std::string, ActiveJob> jobs_;
  std::map<uint64_t, const ActiveJob*> queued_;
  // Number of queued jobs of each priority that some have.
  std::map<int32_t, size_t> num_queued_of_;
  std::set<std::string> running_;
  // Ids of jobs that the store has in another state.
  std::set<std::string> unsaved_;
  size_t unsaved_ends_ = 0;  // Number of jobs in unsaved_ that have ended.
  // Ids of jobs that have not ended, by their run folders.
  std::map<std::string, std::string> folders_;
  uint64_t next_number_ = 1;
  Deadline last_change_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_ACTIVE_JOBS_H_
