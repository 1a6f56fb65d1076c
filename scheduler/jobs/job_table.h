// All jobs of the service: the queue, the states, who watches and who cancels.
// The store is the truth for everything but the progress of the job that runs.
#ifndef FGNN_SCHEDULER_JOBS_JOB_TABLE_H_
#define FGNN_SCHEDULER_JOBS_JOB_TABLE_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/device_demand.h"
#include "scheduler/jobs/job.h"
#include "scheduler/jobs/job_order.h"
#include "scheduler/jobs/job_store.h"
#include "scheduler/jobs/user_shares.h"
#include "shared/base/clock.h"

namespace fgnn {

inline constexpr size_t kMaxQueuedJobs = 10'000;

struct JobTableOptions {
  size_t max_queued = kMaxQueuedJobs;
  // Of the service, no two with a core in common. As many jobs, but at least
  // one, run at once.
  std::vector<std::string> devices = {};
  // nullptr: every job has all devices.
  DemandReader read_demand = nullptr;
};

struct JobRequest {
  std::string spec_bytes = {};  // Effective.
  std::string run_dir = {};     // Absolute; empty: <state dir>/runs/<job id>.
  std::string client_key = {};  // Empty: none.
  bool digest = false;
  bool trace = false;
  bool resume = false;  // Go on from a checkpoint of run_dir.
  uint32_t epochs = 0;
  std::string dataset = {};
  std::string user = {};  // Empty: nobody's.
  std::string name = {};
  int32_t priority = 0;
  std::vector<std::string> after = {};  // Ids, or unique prefixes of them.
  uint32_t retries = 0;
  uint32_t time_limit_seconds = 0;  // 0: none.
};

// A job and the number of its last change.
struct JobVersion {
  Job job;
  uint64_t change = 0;
};

// Why a job that runs is to let go of its devices at a batch boundary.
enum class LetGo : uint8_t {
  kNo,
  kPause,     // Somebody asked for it.
  kGiveWay,   // To a job of higher priority.
  kTimeIsUp,  // Its time limit.
  kGrow,      // To start again with more devices, which have come free.
};

// Thread-safe.
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

  // Jobs that Open() found running.
  const std::vector<std::string>& interrupted() const { return interrupted_; }
  // Whether one of them goes on.
  bool resumes_interrupted() const { return resumes_interrupted_; }

  // ---- For clients.
  // On disk once this returns. The job of an earlier call with the same client
  // key and the same request, or the one that goes on in `run_dir` already, if
  // that is what is asked for. AlreadyExists: the key was used for another
  // request, or run_dir is that of another job that has not ended.
  // PermissionDenied: what is to go on is the run of another user.
  // ResourceExhausted: too many wait. Unavailable: the service
  // is ending. NotFound, FailedPrecondition: what it is to run after is not
  // there, or has failed. InvalidArgument: more devices than the service has.
  absl::StatusOr<Job> Submit(const JobRequest& request);
  // The first part of it: what an earlier call with this client key made.
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
  // OK once the job is PAUSED or somebody has had it go on meanwhile; why it
  // could not be paused; nullopt: not yet.
  std::optional<absl::Status> PauseAnswer(const std::string& id);
  // Queues a paused job again, on disk once this returns; OK if it is not
  // paused. FailedPrecondition: it has ended.
  absl::Status Continue(const std::string& id);
  // Waits until the job has changed since `seen`, but with `only_end` until it
  // has ended. False at the deadline. `id` is a whole id.
  bool WaitForChange(const std::string& id, uint64_t seen, bool only_end,
                     Deadline deadline);
  // Waits until a job of `seen` (whole ids, and the numbers of their last
  // changes that the caller has seen) has ended, at most until the deadline.
  // Returns the jobs that have changed since, or why one cannot be read.
  std::map<std::string, absl::StatusOr<JobVersion>> WaitForChanges(
      const std::map<std::string, uint64_t>& seen, Deadline deadline);
  // Jobs that have not ended and are not of this user.
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

  // ---- For those who run jobs.
  // The first job by job_order.h that may start beside those that run, now
  // PREPARING, with its `devices`: it has them until Park(), TryAgain() or
  // End(). nullopt at the deadline.
  std::optional<Job> StartNext(Deadline deadline);
  void MarkRunning(const std::string& id);
  // It came further since the service started.
  void ForgetInterruptions(const std::string& id);
  void UpdateProgress(const std::string& id,
                      const std::function<void(JobProgress&)>& update);
  // OK, or why the job is to end now.
  absl::Status CancelCause(const std::string& id) const;
  void End(const std::string& id, JobState state, const absl::Status& error);
  // The job's run folder is its own from now on; in the store once this returns
  // OK. ResourceExhausted: the store's disk is full.
  absl::Status OwnFolder(const std::string& id);
  // Until the deadline, or until the table is closed.
  void WaitUntilClosed(Deadline deadline);
  // Whether the job is to let go of its devices.
  LetGo ShouldLetGo(const std::string& id);
  // It cannot: its checkpoint could not be written. It goes on.
  void KeepOn(const std::string& id, const absl::Status& why);
  // Nothing of it is left on its devices, and its run folder has what it goes
  // on from: PAUSED or QUEUED now, or CANCELLED where that came first. `why` is
  // kPause, kGiveWay or kGrow.
  void Park(const std::string& id, LetGo why);
  // After a start that failed: whether it is queued again, to go on from its
  // newest checkpoint. Counts the attempt in any case.
  bool TryAgain(const std::string& id, const absl::Status& error);

  // No job is taken or started any more.
  void Close();
  // The same, if no job is queued, paused or running, and the ends of all are
  // stored. Whether it did.
  bool CloseIfEmpty();
  bool closed() const;
  // As Cancel() of all jobs that run.
  void CancelRunning(const absl::Status& why);

 private:
  struct Active {
    Job job;
    uint64_t number = 0;  // Order of submission.
    uint64_t change = 1;
    absl::Status cancel;                    // Why, once somebody asked.
    Deadline held_until = Deadline::min();  // Not started before.
    bool was_interrupted = false;           // And has not started since.
    std::set<std::string> unmet;            // Of job.after: not COMPLETED yet.
    size_t queued_at = 0;                   // In the queue's snapshot.
    WantedDevices wanted;
    // That it has, or had when the service before this one ended.
    DeviceSet devices;
    // Of a job that has devices, and runs:
    std::optional<Stopwatch> uncharged;  // Since this its seconds are to count.
    uint64_t started = 0;                // Order of starts.
    double prepaid = 0;                  // Seconds of devices charged already.
    Deadline stays_until = Deadline::min();  // Gives no way before.
    Deadline began = Deadline::min();        // To be prepared.
    double start_seconds = kNoLimit;         // From then on until it ran.
    bool gains_by_more = false;              // As GainsByMore() was last.
    // And of one that was interrupted, which may have daemons:
    bool pause = false;       // Somebody asked for it.
    absl::Status not_paused;  // Why it could not be.

    bool runs() const { return uncharged.has_value(); }
    // Its end is still to be stored.
    bool has_ended() const { return IsFinal(job.state); }
  };

  // Whose a run is that is to go on, and what it leaves beside its metrics.
  struct OwnerOfRun {
    std::string user;    // Empty: nobody's.
    std::string job_id;  // Empty: not known to this service.
    bool digest = false;
    bool trace = false;
  };

  // A call of Submit() that is under way.
  struct Submission {
    const JobRequest* request;
    // What the folder of a run that is to go on says of itself.
    OwnerOfRun on_disk = {};
    // The answer, once it is done; is_done is guarded by submissions_mutex_.
    std::optional<absl::StatusOr<Job>> job;
    bool is_done = false;
  };

  JobTable(JobStore store, JobStore reader, std::filesystem::path state_dir,
           const JobTableOptions& options, std::vector<ServiceDevice> devices);
  // Brings jobs of the store to the table's state, and drops those that are in
  // another state than asked for: the store may know of a change later.
  void DescribeAll(const JobFilter& filter, std::vector<Job>& jobs);
  void SubmitAll(const std::vector<Submission*>& all);
  // Appends the ids of jobs that are new to `added`; none of them stays where
  // the result is an error.
  absl::Status StoreAllLocked(const std::vector<Submission*>& all,
                              std::vector<std::string>& added);
  // Appends the id of a job that is new to `added`.
  absl::StatusOr<Job> SubmitOneLocked(const Submission& submission,
                                      std::vector<std::string>& added);
  absl::StatusOr<OwnerOfRun> FindOwnerLocked(const Submission& submission);
  absl::Status CheckMayResume(const JobRequest& request,
                              const OwnerOfRun& owner) const;
  absl::Status RecoverJobs();
  absl::Status RecoverInterruptedLocked(Job& job);
  absl::Status RecoverDependenciesLocked();
  absl::Status RecoverSharesLocked();
  absl::StatusOr<std::optional<Job>> FindSameRequestLocked(
      const JobRequest& request);
  absl::StatusOr<std::string> NewIdLocked(int64_t now_ms);
  absl::StatusOr<Job> FindOneLocked(const std::string& id_or_prefix);
  absl::StatusOr<JobVersion> FindVersionLocked(const std::string& id_or_prefix);
  absl::StatusOr<std::set<std::string>> FindUnmetLocked(
      std::vector<std::string>& after);
  absl::Status CheckHasNotEndedLocked(const std::string& id);
  absl::StatusOr<WantedDevices> ReadWanted(const std::string& spec_bytes) const;
  size_t MostRunning() const { return std::max<size_t>(devices_.size(), 1); }
  Active& AddLocked(Job job, WantedDevices wanted);
  Active* FindRunningLocked(const std::string& id);
  bool MayTakeOverLocked(const Active& active) const;
  bool IsSuspectPreparedLocked() const;
  static bool GainsByMore(const Active& active);
  Job DescribeLocked(const Active& active);
  const JobOrder& OrderLocked();
  void OrderChangedLocked();
  void MakeSnapshotLocked(Deadline now);
  void ChargeLocked(Active& active);
  void LetGoLocked(Active& active);
  void EnqueueLocked(Active& active, JobState state);
  void GoLocked(Active& active, JobState state);
  void CancelLocked(Active& active, const absl::Status& why);
  void EndLocked(const std::string& id, JobState state,
                 const absl::Status& error);
  void EndOneLocked(const std::string& id, JobState state,
                    const absl::Status& error);
  std::vector<std::string> DependentsLocked(const std::string& id) const;
  void SaveLocked(Active& active);
  void SaveUnsavedLocked();
  void ForgetLocked(const std::string& id);
  bool HasEndedLocked(const std::string& id) const;

  const std::filesystem::path state_dir_;
  const size_t max_queued_;
  const std::vector<ServiceDevice> devices_;
  const DemandReader read_demand_;
  const std::string service_user_;
  std::vector<std::string> interrupted_;
  bool resumes_interrupted_ = false;

  // Never held while mutex_ is taken.
  std::mutex submissions_mutex_;
  std::condition_variable submitted_;
  bool is_submitting_ = false;            // Somebody does, for others as well.
  std::vector<Submission*> submissions_;  // Of calls that wait for the next.

  // Lists of a thousand jobs keep nobody from submitting. Never held while
  // mutex_ is taken.
  std::mutex reader_mutex_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The following are guarded by mutex_.
  JobStore store_;
  // Jobs that have not ended, and those whose end is still to be stored.
  std::map<std::string, Active> active_;
  std::set<std::string> unsaved_;  // Of active_: the store has another state.
  size_t unsaved_ends_ = 0;        // Those of them that have ended.
  // Run folders of jobs that have not ended, and their jobs.
  std::map<std::string, std::string> folders_;
  std::map<uint64_t, std::string> queue_;  // QUEUED, in order of submission.
  std::set<std::string> running_;          // Have devices.
  uint64_t starts_ = 0;                    // Counts them.
  uint64_t next_number_ = 1;
  uint64_t ids_made_ = 0;
  uint64_t changes_ = 1;           // Counts all changes.
  uint64_t order_change_ = 1;      // The last one of the order.
  QueueSnapshot queue_snapshot_;   // What order_ is of.
  std::optional<JobOrder> order_;  // nullopt: to be made again.
  std::vector<size_t> wait_of_;    // By queued_at: where order_ has its wait.
  Deadline order_until_;           // Then a job is not held back any more.
  UserShares shares_;
  std::set<std::string> unseen_;  // Bounded, see EndLocked().
  bool any_submitted_ = false;
  bool closed_ = false;
  Deadline last_change_;

  // Guarded by reader_mutex_. Behind store_: the last one that closes the file
  // makes one file of it, which a reader could not.
  JobStore reader_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_TABLE_H_
