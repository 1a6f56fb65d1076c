// The jobs that have not ended: in memory, and as the store knows them.
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

// Not thread-safe: the caller holds the table's mutex. References to jobs stay
// valid until Remove(), Leave() or SaveUnsaved().
class ActiveJobs {
 public:
  // Borrows both.
  ActiveJobs(JobStore* store, JobChanges* changes);

  // Returns nullptr if the job is not here.
  ActiveJob* Find(const std::string& id);
  const ActiveJob* Find(const std::string& id) const;
  // Returns a job that is here.
  ActiveJob& at(const std::string& id) { return jobs_.at(id); }
  const ActiveJob& at(const std::string& id) const { return jobs_.at(id); }
  const std::map<std::string, ActiveJob>& all() const { return jobs_; }
  // Returns true also for a job that is not here.
  bool HasEnded(const std::string& id) const;
  // Returns nullptr if no job here has the run folder.
  const ActiveJob* FindByFolder(const std::string& run_dir) const;
  // Returns the ids of the jobs that wait for this one to complete.
  std::vector<std::string> DependentsOf(const std::string& id) const;

  // Adds a job that the store knows. The job gets the next number.
  ActiveJob& Add(Job job, WantedDevices wanted);
  // Takes back Add().
  void Remove(const std::string& id);

  // Brings the job into another state, which is stored and told to those who
  // wait. A step that CanGo() forbids is a bug and changes nothing.
  void Go(ActiveJob& active, JobState state);
  // Stores the job. What cannot be stored is kept for SaveUnsaved().
  void Save(ActiveJob& active);
  void SaveUnsaved();
  // Lets go of a job that has ended: its folder is free. The job itself is
  // forgotten once the store knows its end.
  void Leave(ActiveJob& active);

  // Returns how many jobs have not ended.
  size_t num_unfinished() const { return jobs_.size() - unsaved_ends_; }
  // Returns whether all ends are stored, too.
  bool empty() const { return jobs_.empty(); }

  // Moment of the last change of any job's state, or of the last submission.
  Deadline last_change() const { return last_change_; }
  void SetChanged() { last_change_ = MonotonicClock::now(); }

 private:
  void Forget(const std::string& id);

  JobStore* const store_;
  JobChanges* const changes_;
  // Jobs that have not ended, and those whose end is still to be stored.
  std::map<std::string, ActiveJob> jobs_;
  std::set<std::string> unsaved_;  // Jobs that the store has in another state.
  size_t unsaved_ends_ = 0;        // How many of them have ended.
  // Run folders of jobs that have not ended, and their jobs.
  std::map<std::string, std::string> folders_;
  uint64_t next_number_ = 1;
  Deadline last_change_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_ACTIVE_JOBS_H_
