// Finds jobs in memory or in the store, and describes them for clients.
#ifndef FGNN_SCHEDULER_JOBS_JOB_LOOKUP_H_
#define FGNN_SCHEDULER_JOBS_JOB_LOOKUP_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/queue_order.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// A job and the number of its last change.
struct JobVersion {
  Job job;
  uint64_t change = 0;
};

// Not thread-safe: the caller holds the table's mutex.
class JobLookup {
 public:
  // Borrows all.
  JobLookup(JobStore* store, const ActiveJobs* jobs, QueueOrder* order)
      : store_(store), jobs_(jobs), order_(order) {}

  // Returns the job as it is now, with the reason why it waits.
  Job Describe(const ActiveJob& active) const;
  // Brings jobs that were read from the store to the table's state, since the
  // store may learn of a change later. Drops the jobs whose state the filter
  // does not ask for.
  void DescribeAll(const JobFilter& filter, std::vector<Job>& jobs) const;

  // Returns the job that the word names for the user: an id or else, see
  // FindNamedJob(). NotFound: none. InvalidArgument: the word is empty or names
  // several jobs.
  absl::StatusOr<Job> Find(const std::string& word,
                           const std::string& user = {}) const;
  absl::StatusOr<JobVersion> FindVersion(const std::string& word,
                                         const std::string& user = {}) const;
  // Returns FailedPrecondition if the job has ended, or an error of Find().
  absl::Status CheckHasNotEnded(const std::string& id) const;
  // Returns whether the job has ended or has changed since `seen`.
  bool HasNews(const std::string& id, uint64_t seen) const;
  // Replaces the user's words in `after` by the whole ids, and returns the ids
  // of the jobs that have yet to complete. FailedPrecondition: one of the jobs
  // has failed or was cancelled. Also errors of Find().
  absl::StatusOr<std::set<std::string>> FindUnmet(
      std::vector<std::string>& after, const std::string& user) const;

 private:
  // Returns the number of the last change that a client may see.
  uint64_t ChangeOf(const ActiveJob& active) const;

  JobStore* const store_;
  const ActiveJobs* const jobs_;
  QueueOrder* const order_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_LOOKUP_H_
