// All jobs of the service: the queue, the states, clients that watch or cancel.
// The store is the truth for everything but the progress of running jobs.
//
// One mutex guards the parts of a table (job_table_parts.h). Outside it,
// SubmissionGroup lets submissions that come at once share a commit, and
// JobLister reads lists. JobDispatcher is the table as the job runner sees it.
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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/run_removal.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/jobs/job_lookup.h"
#include "scheduler/jobs/queue_order.h"
#include "scheduler/jobs/submission_group.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_lister.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"
#include "shared/device/device.h"

namespace fgnn {

inline constexpr size_t kMaxQueuedJobs = 10'000;
inline constexpr size_t kMaxJobsOfUser = 1'000;

struct JobTableOptions {
  size_t max_queued = kMaxQueuedJobs;
  // Most jobs of one user that have not ended; root and the service's user have
  // no such limit.
  size_t max_of_user = kMaxJobsOfUser;
  // Devices of the service; no two share a core. At most as many jobs as
  // devices run at once; without devices, one job.
  std::vector<Device> devices = {};
  AskHosts hosts = nullptr;  // See QueueOrder.
};

// The jobs that have devices or wait for some.
struct JobsNow {
  std::vector<Job> running;
  std::vector<Job> waiting;
};

// The table as clients and the service itself use it. Thread-safe.
class JobTable {
 public:
  // Opens the table of the jobs in `store`. Jobs that ran when the service
  // ended are queued again, before all others, and go on where they were. Such
  // a job is held back for a while if it was interrupted often without an epoch
  // between. Queued jobs stay queued. InvalidArgument: a name in `devices` is
  // no device, or two devices share a core.
  static absl::StatusOr<std::unique_ptr<JobTable>> Open(
      JobStore store, std::filesystem::path state_dir,
      const JobTableOptions& options = {});

  // Tries once more to store the changes that could not be stored.
  ~JobTable();

  // Returns the jobs that Open() found running.
  const std::vector<std::string>& interrupted() const;
  // Returns the same table, as the job runner uses it.
  JobDispatcher& dispatcher() { return dispatcher_; }

  // Queues a job; it is on disk once this returns. Returns the job of an
  // earlier call with the same client key and the same request. With `resume`,
  // returns the job that already goes on in `run_dir`, if it is the one asked
  // for. AlreadyExists: the key was used for another request, or another job
  // that has not ended has run_dir. PermissionDenied: the run to be resumed is
  // another user's. ResourceExhausted: too many jobs wait, or the user has too
  // many. Unavailable: the
  // service is ending. NotFound: a job of `after` does not exist.
  // FailedPrecondition: a job of `after` has failed or was cancelled.
  // InvalidArgument: the job asks for more devices than the service has.
  absl::StatusOr<Job> Submit(const JobRequest& request);
  // Does the first part of Submit(): returns the job that an earlier call with
  // this client key made; nullopt: there is none.
  absl::StatusOr<std::optional<Job>> FindSubmitted(const JobRequest& request);
  // Returns the job that the word names for the user: an id or else, see
  // FindNamedJob(). NotFound: no job is named so. InvalidArgument: several jobs
  // are.
  absl::StatusOr<JobVersion> Get(const std::string& word,
                                 const std::string& user = {});
  // Returns at most `limit` jobs that pass the filter, newest first.
  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter,
                                        uint32_t limit);
  // Returns the jobs that have devices, and the first `most_waiting` of those
  // that wait, in the order in which they would start.
  JobsNow Now(size_t most_waiting) const;
  // Cancels a job. A job without devices ends at once. A job with devices ends
  // once its thread has released them: see WaitForChange(). FailedPrecondition:
  // the job completed or failed already. OK: also if the job was cancelled
  // before.
  absl::Status Cancel(const std::string& id, const absl::Status& why);
  // Asks a job to let go of its devices until Continue(). A queued job is
  // PAUSED, and on disk, once this returns. For a running or interrupted job,
  // PauseAnswer() tells the result. FailedPrecondition: the job has ended or is
  // being cancelled.
  absl::Status Pause(const std::string& id);
  // Returns OK once the job is PAUSED, or if a client continued it meanwhile.
  // Returns an error that says why the job could not be paused. Returns nullopt
  // while the pause is under way.
  std::optional<absl::Status> PauseAnswer(const std::string& id);
  // Queues a paused job again; that is on disk once this returns. Returns OK if
  // the job is not paused. FailedPrecondition: the job has ended. Unavailable:
  // the service is ending.
  absl::Status Continue(const std::string& id);
  // Removes the ended job with this whole id: first its folder, see
  // RemoveRunFolder(), then the job. `remove` removes the folder. The table
  // serves other calls meanwhile. FailedPrecondition: CheckMayRemove() does not
  // allow it. Unavailable: the job's end is not stored yet. NotFound: no such
  // job.
  absl::StatusOr<RemovedRun> Remove(
      const std::string& id,
      absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove =
          RemoveByOwnRights);
  // Waits until the job has changed since the change number `seen`; with
  // `only_end`, until the job has ended. Returns false at the deadline. `id` is
  // a whole id.
  bool WaitForChange(const std::string& id, uint64_t seen, bool only_end,
                     Deadline deadline);
  // Waits until one of the jobs in `seen` has ended, at most until the
  // deadline. `seen` has whole ids, each with the number of the last change
  // that the caller has seen. Returns the jobs that have changed since; an
  // error says why a job cannot be read.
  std::map<std::string, absl::StatusOr<JobVersion>> WaitForChanges(
      const std::map<std::string, uint64_t>& seen, Deadline deadline);
  // Returns the jobs that have not ended and are not of this user.
  std::vector<Job> UnfinishedOfOthers(const std::string& user) const;
  // Notes that a client has been told how this job ended.
  void MarkSeen(const std::string& id);

  struct Counts {
    uint32_t queued = 0;
    uint32_t paused = 0;
    uint32_t running = 0;
    // Whether any job was submitted since the service started.
    bool any_submitted = false;
    // Number of jobs that ended since the start and whose end no client knows.
    uint32_t ended_unseen = 0;
    // Numbers of jobs that ended since the start, by their state.
    uint64_t completed = 0;
    uint64_t failed = 0;
    uint64_t cancelled = 0;
    Deadline last_change;  // Time of the last change of any job's state.
  };
  Counts counts() const;

  // Closes the table: it takes and starts no job any more. With `keeps_jobs`,
  // the running jobs are to let go of their devices, so that the next start of
  // the service goes on with them.
  void Close(bool keeps_jobs = false);
  // Closes the table if no job is queued, paused or running, and the ends of
  // all jobs are stored. Returns false if the table stays open.
  bool CloseIfEmpty();
  bool closed() const { return dispatcher_.closed(); }
  // Cancels all running jobs, as Cancel() does.
  void CancelRunning(const absl::Status& why);

 private:
  JobTable(std::unique_ptr<JobTableParts> parts, JobStore reader);
  absl::StatusOr<Job> FindRemovable(const std::string& id);

  const std::unique_ptr<JobTableParts> parts_;
  JobDispatcher dispatcher_;
  SubmissionGroup submissions_;
  JobLister lister_;  // Declared behind parts_, which own the store.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_TABLE_H_
