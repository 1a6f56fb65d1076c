// The daemons of one job, as the thread that runs the job uses them: started,
// attached, kept alive and let go.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_EXECUTORS_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_EXECUTORS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/executors/job_calls.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/executors/job_dataset_check.h"
#include "scheduler/executors/job_evaluation.h"
#include "scheduler/executors/job_ranking.h"
#include "scheduler/executors/job_segment.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: for the job's thread alone. Every function that waits, also
// of calls(), ranking() and evaluation(), asks `keep_going` about ten times a
// second and returns its error. Meanwhile it attaches daemons that have come
// back. It also returns the error of JobDaemons::Failure().
class JobExecutors {
 public:
  // `calls` is borrowed.
  JobExecutors(std::unique_ptr<JobDaemons> daemons, ExecutorCalls* calls,
               ExecutorsOfJob job, KeepGoing keep_going);
  // Calls Release().
  ~JobExecutors();

  // Returns the segment of this job that daemons of an earlier scheduler have
  // kept. Returns nullptr if there is none; the job then starts as any other.
  // Waits until it is known which of these daemons are alive.
  absl::StatusOr<JobSegment*> FindKeptSegment();
  // Goes on with that segment and those daemons, instead of Start(),
  // OpenSegment() and Tick(). A caller that does not want them calls Release():
  // the daemons then let go of the segment.
  absl::Status TakeOver(JobHosts hosts = {});

  // Starts the daemons that are missing, without waiting for them. Waits for
  // the daemons of an earlier scheduler, as FindKeptSegment() does.
  absl::Status Start();
  // Waits until all daemons are registered. Unavailable: some did not register
  // in time; the message names them.
  absl::Status WaitUntilRegistered();
  // Has a sampler read every value of the dataset. From then on daemons are
  // attached only while the dataset has these contents. FailedPrecondition: the
  // job began with other contents.
  absl::StatusOr<ValidatedDataset> ValidateDataset();
  // Makes the segment; the next Tick() attaches all daemons to it, and tells
  // them of the hosts.
  absl::Status OpenSegment(const SegmentOptions& options, JobHosts hosts = {});
  // Attaches daemons that came back. Returns OK while the job may go on.
  absl::Status Tick();
  // Stops the queue, detaches all daemons and destroys the segment. A daemon
  // that does not let go is killed. The daemons belong to no job from then on.
  // Idempotent.
  void Release();

  // Calls to the job's executors. Each object borrows this one.
  JobCalls calls() { return JobCalls(&caller_); }
  JobRanking ranking() { return JobRanking(&caller_); }
  // To be called only once the segment is open.
  JobEvaluation evaluation() { return JobEvaluation(&caller_, segment_.get()); }

  JobSegment& segment() { return *segment_; }  // Only once the segment is open.
  uint64_t segment_bytes() const {
    return segment_ == nullptr ? 0 : segment_->touched_bytes();
  }
  // Returns the bytes that trainers share beside the segment: their hot table,
  // and arrays of an evaluation under way.
  uint64_t shared_bytes() const {
    return segment_ == nullptr
               ? 0
               : segment_->table_bytes() + segment_->scratch_bytes();
  }
  // See JobDaemons.
  MemoryUse MeasureMemory() { return daemons_->MeasureMemory(); }
  uint32_t restarts() const { return daemons_->restarts(); }
  // Returns in words which daemons the job has waited for, for some seconds by
  // the last Tick(), and how each is started; empty: it waits for none.
  const std::string& waiting_for() const { return waiting_for_; }
  std::vector<ExecutorView> Views() const { return daemons_->Views(); }

 private:
  absl::Status WaitForSurvivors();
  // Loses the devices of daemons that have not registered for too long. Returns
  // an error if the job cannot go on without them.
  absl::Status LoseTheOverdue();
  absl::Status Attach(const std::string& name);
  absl::Status CallAttach(const AttachTicket& ticket);
  void LetGoOfSegment();

  const std::unique_ptr<JobDaemons> daemons_;
  ExecutorCaller caller_;
  JobDatasetCheck dataset_check_;
  JobHosts hosts_;
  std::unique_ptr<JobSegment> segment_;
  Deadline complete_;  // Time at which all daemons were last registered.
  std::string waiting_for_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_EXECUTORS_H_
