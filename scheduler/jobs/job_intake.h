// Takes submitted jobs into the table: checks, stores and queues them.
#ifndef FGNN_SCHEDULER_JOBS_JOB_INTAKE_H_
#define FGNN_SCHEDULER_JOBS_JOB_INTAKE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/job_lookup.h"
#include "scheduler/jobs/job_states.h"
#include "scheduler/jobs/queue_order.h"
#include "scheduler/jobs/submission_group.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex.
class JobIntake {
 public:
  struct Options {
    std::filesystem::path state_dir;
    size_t max_queued = 0;
    size_t max_of_user = 0;  // Jobs of one user; see JobTableOptions.
  };
  // Borrows all arguments but the options.
  JobIntake(Options options, JobStore* store, const ActiveJobs* jobs,
            const QueueOrder* order, JobStates* states,
            const JobLookup* lookup);

  // Returns the folder of a job that names none: in runs/, or, for a user other
  // than root and the service's, in that user's folder there.
  std::filesystem::path OwnRunDir(const std::string& user,
                                  const std::string& id) const;
  // Answers all submissions, with one commit. With `is_closed` the intake takes
  // no new job. Returns whether at least one job is new. Throws nothing.
  bool SubmitAll(const std::vector<Submission*>& all, bool is_closed);
  // Returns the job that an earlier request with this client key made; nullopt:
  // there is none. AlreadyExists: the earlier request asked for something else.
  absl::StatusOr<std::optional<Job>> FindSameRequest(const JobRequest& request);

 private:
  // Appends the ids of new jobs to `added`. The caller undoes them if the
  // result is an error.
  absl::Status StoreAll(const std::vector<Submission*>& all, bool is_closed,
                        std::vector<std::string>& added);
  // Appends the id of the job to `added` if the job is new.
  absl::StatusOr<Job> SubmitOne(const Submission& submission, bool is_closed,
                                std::vector<std::string>& added);
  // Makes a job of the request, with a new id.
  absl::StatusOr<Job> Make(const JobRequest& request, const OwnerOfRun& owner);
  absl::Status CheckHasRoom(const JobRequest& request) const;
  absl::StatusOr<OwnerOfRun> FindOwner(const Submission& submission);
  absl::Status CheckMayResume(const JobRequest& request,
                              const OwnerOfRun& owner) const;
  absl::StatusOr<std::string> NewId(int64_t now_ms);

  const Options options_;
  const std::string service_user_;
  JobStore* const store_;
  const ActiveJobs* const jobs_;
  const QueueOrder* const order_;
  JobStates* const states_;
  const JobLookup* const lookup_;
  uint64_t ids_made_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_INTAKE_H_
