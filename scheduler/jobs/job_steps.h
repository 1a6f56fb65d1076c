// The steps that jobs take between states, with all that goes with them.
#ifndef FGNN_SCHEDULER_JOBS_JOB_STEPS_H_
#define FGNN_SCHEDULER_JOBS_JOB_STEPS_H_

#include <cstddef>
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

  // Asks a job with devices for its end. The first reason stands.
  void Cancel(ActiveJob& active, const absl::Status& why);
  // Brings the job from its devices, from the queue or from a pause to `state`:
  // kQueued or kPaused.
  void Enqueue(ActiveJob& active, JobState state);
  // Ends the job; and, where it did not complete, those that were to run after
  // it.
  void End(const std::string& id, JobState state, const absl::Status& error);

  // A client knows how the job ended. Returns false if one did before.
  bool MarkSeen(const std::string& id) { return unseen_.erase(id) > 0; }
  size_t num_unseen() const { return unseen_.size(); }

 private:
  void EndOne(const std::string& id, JobState state, const absl::Status& error);

  ActiveJobs* const jobs_;
  JobQueue* const queue_;
  // Jobs whose end no client knows yet. Bounded: further ones are left out.
  std::set<std::string> unseen_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_STEPS_H_
