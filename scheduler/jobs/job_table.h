// All jobs of the service: the queue, the states, who watches and who cancels.
// The store is the truth for everything but the progress of the job that runs.
//
// What a table is made of (job_table_parts.h) is guarded by one mutex:
//
//   ActiveJobs      jobs that have not ended, their states, what is stored
//   JobQueue        who waits, who has devices, the order between them
//   DeviceAccount   seconds of devices, of jobs and of users
//   JobSteps        the steps between states, with all that goes with them
//   JobLookup       jobs as clients are told of them
//   JobIntake       what is submitted: checked, stored, queued
//
// Beside it: SubmissionGroup has submissions that come at once share a commit,
// and JobLister reads lists. JobDispatcher is the table of those who run jobs.
#ifndef FGNN_SCHEDULER_JOBS_JOB_TABLE_H_
#define FGNN_SCHEDULER_JOBS_JOB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/jobs/job_lookup.h"
#include "scheduler/jobs/submission_group.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_lister.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"

namespace fgnn {

inline constexpr size_t kMaxQueuedJobs = 10'000;

struct JobTableOptions {
  size_t max_queued = kMaxQueuedJobs;
  // The service's devices, no two with a core in common. As many jobs, but at
  // least one, run at once.
  std::vector<std::string> devices = {};
  // nullptr: every job has all devices.
  DemandReader read_demand = nullptr;
};

// For clients, and for the service itself. Thread-safe.
class JobTable {
 public:
  // Jobs of `store` that ran when the service ended are queued again, before
  // all others, to go on where they are; held back for a while if that
  // happened often without an epoch between. Queued ones stay queued.
  // InvalidArgument: devices of the service that are none, or share a core.
  static absl::StatusOr<std::unique_ptr<JobTable>> Open(
      JobStore store, std::filesystem::path state_dir,
      const JobTableOptions& options = {});

  // Tries once more to store what could not be stored.
  ~JobTable();

  // Returns the jobs that Open() found running.
  const std::vector<std::string>& interrupted() const;
  // Returns whether one of them goes on.
  bool resumes_interrupted() const { return dispatcher_.resumes_interrupted(); }
  // The same table, for those who run jobs.
  JobDispatcher& dispatcher() { return dispatcher_; }

  // The job is on disk once this returns. Returns the job of an earlier call
  // with the same client key and the same request, or the one that goes on in
  // `run_dir` already, if that is what is asked for. AlreadyExists: the key was
  // used for another request, or run_dir is that of another job that has not
  // ended. PermissionDenied: what is to go on is the run of another user.
  // ResourceExhausted: too many wait. Unavailable: the service
  // is ending. NotFound, FailedPrecondition: what it is to run after is not
  // there, or has failed. InvalidArgument: more devices than the service has.
  absl::StatusOr<Job> Submit(const JobRequest& request);
  // The first part of it: returns what an earlier call with this client key
  // made.
  absl::StatusOr<std::optional<Job>> FindSubmitted(const JobRequest& request);
  // By id or a unique prefix of it. NotFound, InvalidArgument (not unique).
  absl::StatusOr<JobVersion> Get(const std::string& id_or_prefix);
  // Newest first.
  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter,
                                        uint32_t limit);
  // Asks for the end of a job. A queued one ends at once, others when their
  // thread has seen to it: see WaitForChange(). FailedPrecondition: it
  // completed or failed already. OK if it was cancelled.
  absl::Status Cancel(const std::string& id, const absl::Status& why);
  // Asks a job to let go of its devices until Continue(). One that is queued is
  // PAUSED at once, and on disk; of one that runs, or did when the service
  // before this one ended, PauseAnswer() tells.
  // FailedPrecondition: it has ended or is about to.
  absl::Status Pause(const std::string& id);
  // Returns OK once the job is PAUSED or somebody has had it go on meanwhile;
  // why it could not be paused; nullopt: not yet.
  std::optional<absl::Status> PauseAnswer(const std::string& id);
  // Queues a paused job again, on disk once this returns; OK if it is not
  // paused. FailedPrecondition: it has ended.
  absl::Status Continue(const std::string& id);
  // Waits until the job has changed since `seen`, but with `only_end` until it
  // has ended. Returns false at the deadline. `id` is a whole id.
  bool WaitForChange(const std::string& id, uint64_t seen, bool only_end,
                     Deadline deadline);
  // Waits until a job of `seen` (whole ids, and the numbers of their last
  // changes that the caller has seen) has ended, at most until the deadline.
  // Returns the jobs that have changed since, or why one cannot be read.
  std::map<std::string, absl::StatusOr<JobVersion>> WaitForChanges(
      const std::map<std::string, uint64_t>& seen, Deadline deadline);
  // Returns the jobs that have not ended and are not of this user.
  std::vector<Job> UnfinishedOfOthers(const std::string& user) const;
  // A client has been told how this job ended.
  void MarkSeen(const std::string& id);

  struct Counts {
    uint32_t queued = 0;
    uint32_t paused = 0;
    uint32_t running = 0;
    bool any_submitted = false;  // Since the service started.
    uint32_t ended_unseen = 0;   // Ended since, and no client knows yet.
    Deadline last_change;        // Of any job's state.
  };
  Counts counts() const;

  // No job is taken or started any more.
  void Close();
  // The same, if no job is queued, paused or running, and the ends of all are
  // stored. Returns whether it did.
  bool CloseIfEmpty();
  bool closed() const { return dispatcher_.closed(); }
  // As Cancel() of all jobs that run.
  void CancelRunning(const absl::Status& why);

 private:
  JobTable(std::unique_ptr<JobTableParts> parts, JobStore reader);

  const std::unique_ptr<JobTableParts> parts_;
  JobDispatcher dispatcher_;
  SubmissionGroup submissions_;
  JobLister lister_;  // Behind parts_, which have the store.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_TABLE_H_
