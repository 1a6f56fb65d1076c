// The state machine of the jobs. Every step of a job from one state to another
// is one function here, with what it changes of the order, of the account and
// of the store. README.md has the table of the steps.
#ifndef FGNN_SCHEDULER_JOBS_JOB_STATES_H_
#define FGNN_SCHEDULER_JOBS_JOB_STATES_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/device_account.h"
#include "scheduler/jobs/ended_jobs.h"
#include "scheduler/jobs/queue_order.h"

namespace fgnn {

// Longest time for which a job that was interrupted is held back.
inline constexpr std::chrono::seconds kLongestHold{60};

// Why a job that runs is preempted: it lets go of its devices at a batch
// boundary, and may go on later.
enum class PreemptionCause : uint8_t {
  kNone,      // The job keeps its devices.
  kPause,     // A client asked for it.
  kPriority,  // A job of higher priority needs the devices.
  kTimeIsUp,  // The job's time limit is used up.
  kGrow,  // The job is to start again with more devices, which have come free.
  kHostLost,     // A host of the job has gone, and is waited for.
  kServiceEnds,  // The service ends, and its next start goes on with the job.
};

// Not thread-safe: the caller holds the table's mutex. Functions that return no
// status keep the new state in memory if the store cannot be written; see
// ActiveJobs::Save().
class JobStates {
 public:
  // Borrows all.
  JobStates(JobStore* store, ActiveJobs* jobs, QueueOrder* order,
            DeviceAccount* account)
      : store_(store), jobs_(jobs), order_(order), account_(account) {}

  // Adds a job that the store has, QUEUED or PAUSED. `unmet` are the jobs that
  // have to complete before.
  ActiveJob& Add(Job job, WantedDevices wanted, std::set<std::string> unmet);
  // Undoes Add(), as the store has rolled back the job.
  void Undo(const std::string& id);
  // QUEUED -> PREPARING: the job has its devices from now on.
  const Job& Start(const JobStart& start);
  // PREPARING -> RUNNING. Does nothing if the job is CANCELLING meanwhile.
  void MarkRunning(ActiveJob& active);
  // Cancels the job, with devices or without. The first reason stands.
  void Cancel(ActiveJob& active, const absl::Status& why);
  // QUEUED -> PAUSED. A job that has devices, or whose daemons may be at work
  // and may let go of them now (`lets_go`), is asked to pause; Park() follows.
  // FailedPrecondition: the job is being cancelled. An error of the store
  // leaves the job queued.
  absl::Status Pause(ActiveJob& active, bool lets_go);
  // PAUSED -> QUEUED, or takes a pause back that is under way. An error of the
  // store leaves the job paused.
  absl::Status Continue(ActiveJob& active, bool is_closed);
  // The job has let go of its devices, with what it goes on from in its run
  // folder. It becomes PAUSED or QUEUED, or CANCELLED if it was cancelled
  // meanwhile.
  void Park(ActiveJob& active, PreemptionCause why);
  // Counts a failed start. The job becomes QUEUED or PAUSED if its error may
  // mend and it has a retry left; returns whether it is so. The job is held
  // back for a while, longer after each failure.
  bool TryAgain(ActiveJob& active, const absl::Status& error, bool is_closed);
  // Ends the job. If it did not complete, also ends the jobs that were to run
  // after it. Does nothing if the job has ended.
  void End(std::string id, JobState state, const absl::Status& error);
  // Charges the seconds that the job has had its devices since the last charge.
  void Charge(ActiveJob& active);

  EndedJobs& ended() { return ended_; }
  const EndedJobs& ended() const { return ended_; }

 private:
  // Takes the job's devices, if it has some, and brings it to `state`, which is
  // kQueued or kPaused.
  void Enqueue(ActiveJob& active, JobState state);
  // Stores a job without devices in `state`, then brings it there.
  absl::Status EnqueueOnceStored(ActiveJob& active, JobState state);
  void EndOne(const std::string& id, JobState state, const absl::Status& error);
  // Takes the job's devices; other jobs may have them from now on.
  void ReleaseDevices(ActiveJob& active);

  JobStore* const store_;
  ActiveJobs* const jobs_;
  QueueOrder* const order_;
  DeviceAccount* const account_;
  uint64_t starts_ = 0;  // Number of the last start.
  EndedJobs ended_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_STATES_H_
