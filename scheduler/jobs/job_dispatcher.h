// The job table as those who run jobs see it: who goes next, on which devices,
// when a job is to let go of them, and what became of it.
#ifndef FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_
#define FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/store/job.h"
#include "shared/base/clock.h"

namespace fgnn {

struct ActiveJob;
struct JobTableParts;

// Why a job that runs is to let go of its devices at a batch boundary.
enum class LetGo : uint8_t {
  kNo,
  kPause,     // Somebody asked for it.
  kGiveWay,   // To a job of higher priority.
  kTimeIsUp,  // Its time limit.
  kGrow,      // To start again with more devices, which have come free.
};

// Thread-safe. Part of a JobTable, and valid as long as that is.
class JobDispatcher {
 public:
  // Borrows the table's parts.
  explicit JobDispatcher(JobTableParts* parts) : parts_(*parts) {}
  JobDispatcher(const JobDispatcher&) = delete;
  JobDispatcher& operator=(const JobDispatcher&) = delete;

  // Returns the first job by job_order.h that may start beside those that run,
  // now PREPARING, with its `devices`. The job has them until Park(),
  // TryAgain() or End(). nullopt: there is none at the deadline, or the table
  // is closed.
  std::optional<Job> StartNext(Deadline deadline);
  void MarkRunning(const std::string& id);
  // The job came further since the service started.
  void ForgetInterruptions(const std::string& id);
  void UpdateProgress(const std::string& id,
                      const std::function<void(JobProgress&)>& update);
  // OK, or why the job is to end now.
  absl::Status CancelCause(const std::string& id) const;
  void End(const std::string& id, JobState state, const absl::Status& error);
  // The job's run folder is its own from now on; in the store once this returns
  // OK. ResourceExhausted: the store's disk is full.
  absl::Status OwnFolder(const std::string& id);
  // Returns whether, and why, the job is to let go of its devices.
  LetGo ShouldLetGo(const std::string& id);
  // The job cannot let go: its checkpoint could not be written. It goes on.
  void KeepOn(const std::string& id, const absl::Status& why);
  // Nothing of the job is left on its devices, and its run folder has what it
  // goes on from: it is PAUSED or QUEUED now, or CANCELLED where that came
  // first. `why` is kPause, kGiveWay or kGrow.
  void Park(const std::string& id, LetGo why);
  // After a start that failed: returns whether the job is queued again, to go
  // on from its newest checkpoint. Counts the attempt in any case.
  bool TryAgain(const std::string& id, const absl::Status& error);

  // Returns whether a job waits for devices.
  bool HasQueued() const;
  // Returns whether a job goes on that ran when the service ended.
  bool resumes_interrupted() const;
  bool closed() const;
  // Waits until the table is closed, at most until the deadline.
  void WaitUntilClosed(Deadline deadline);

 private:
  // Returns nullptr if the job has no devices. The mutex is held.
  ActiveJob* FindRunning(const std::string& id);

  JobTableParts& parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_DISPATCHER_H_
