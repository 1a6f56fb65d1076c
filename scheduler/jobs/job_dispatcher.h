// The job table as the job runner sees it. It tells which job starts next and
// on which devices, and when a job is preempted. The runner tells it how a job
// ended.
#ifndef FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_
#define FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/jobs/job_states.h"
#include "scheduler/store/job.h"
#include "shared/base/clock.h"

namespace fgnn {

struct JobTableParts;

// Thread-safe. Part of a JobTable, and valid as long as that is.
class JobDispatcher {
 public:
  // Borrows the table's parts.
  explicit JobDispatcher(JobTableParts* parts) : parts_(*parts) {}
  JobDispatcher(const JobDispatcher&) = delete;
  JobDispatcher& operator=(const JobDispatcher&) = delete;

  // Waits for a job that may start beside the running ones, and returns the
  // first by job_order.h. The job is PREPARING then, and has its `devices`
  // until Park(), TryAgain() or End(). Returns nullopt at the deadline, or if
  // the table is closed.
  std::optional<Job> StartNext(Deadline deadline);
  void MarkRunning(const std::string& id);
  // Sets the count of interruptions to 0: the job made progress since the
  // service started.
  void ForgetInterruptions(const std::string& id);
  void UpdateProgress(const std::string& id,
                      const std::function<void(JobProgress&)>& update);
  // Keeps the shares of the job's hosts, also in the store.
  void KeepShares(const std::string& id, std::vector<HostShare> shares);
  // Tells clients what the job waits for, as long as it has its devices; empty:
  // for nothing.
  void SetWaitingFor(const std::string& id, const std::string& what);
  // Notes that a host cannot take part in the job, which goes on without it.
  // Returns false if too few hosts would be left.
  bool LeaveOut(const std::string& id, const std::string& host,
                const std::string& why);
  // Notes that the job needs so many hosts, and why, once it has let go of
  // those that it has. Returns false if it may not have so many.
  bool NeedHosts(const std::string& id, size_t num_hosts,
                 const std::string& why);
  // Returns OK, or why the job was cancelled and has to end now.
  absl::Status CancelCause(const std::string& id) const;
  void End(const std::string& id, JobState state, const absl::Status& error);
  // Makes the run folder the job's own (FolderUse::kOwn); that is in the store
  // once this returns OK. ResourceExhausted: the store's disk is full.
  absl::Status OwnFolder(const std::string& id);
  // Returns why the job is to be preempted now.
  PreemptionCause PreemptCause(const std::string& id);
  // Notes that the job goes on with its devices, as its checkpoint could not be
  // written.
  void KeepOn(const std::string& id, const absl::Status& why);
  // Takes the devices of a job that was preempted. The caller has released
  // all that the job had there, and the run folder has what the job goes on
  // from. The job becomes PAUSED or QUEUED, or CANCELLED if it was cancelled
  // meanwhile. `why` is not kNone or kTimeIsUp.
  void Park(const std::string& id, PreemptionCause why);
  // Counts a failed start. Returns true if the job is queued (or paused) again
  // and will go on from its newest checkpoint.
  bool TryAgain(const std::string& id, const absl::Status& error);

  // Returns whether a job waits for devices.
  bool HasQueued() const;
  // Returns whether a job that ran when the service ended goes on.
  bool resumes_interrupted() const;
  bool closed() const;
  // Waits until the table is closed, at most until the deadline.
  void WaitUntilClosed(Deadline deadline);

 private:
  JobTableParts& parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_
