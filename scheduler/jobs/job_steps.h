// The steps of jobs between states, with the changes of queue and store that
// belong to them.
#ifndef FGNN_SCHEDULER_JOBS_JOB_STEPS_H_
#define FGNN_SCHEDULER_JOBS_JOB_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/job_queue.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex.
class JobSteps {
 public:
  // Borrows both.
  JobSteps(ActiveJobs* jobs, JobQueue* queue) : jobs_(jobs), queue_(queue) {}

  // Cancels a job that has devices. The first reason stands.
  void Cancel(ActiveJob& active, const absl::Status& why);
  // Brings a job that runs, waits or is paused to `state`, which is kQueued or
  // kPaused. The job has no devices then.
  void Enqueue(ActiveJob& active, JobState state);
  // Ends the job. If it did not complete, also ends the jobs that were to run
  // after it.
  void End(const std::string& id, JobState state, const absl::Status& error);

  // Notes that a client knows how the job ended. Returns false if a client knew
  // before.
  bool MarkSeen(const std::string& id) { return unseen_.erase(id) > 0; }
  size_t num_unseen() const { return unseen_.size(); }
  // Returns the number of jobs that have ended in this state so far.
  uint64_t num_ended(JobState state) const {
    const auto found = ended_.find(state);
    return found == ended_.end() ? 0 : found->second;
  }

 private:
  void EndOne(const std::string& id, JobState state, const absl::Status& error);

  ActiveJobs* const jobs_;
  JobQueue* const queue_;
  // Ids of jobs whose end no client knows yet. The set is bounded: further jobs
  // are left out.
  std::set<std::string> unseen_;
  std::map<JobState, uint64_t> ended_;  // Jobs that have ended, by state.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_STEPS_H_
