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

// Not thread-safe: for the job's thread alone. Every function that waits, of
// the parts too, asks `keep_going` about ten times a second, ends with its
// error, and meanwhile attaches daemons that have come back. Each also ends
// with JobDaemons::Failure().
class JobExecutors {
 public:
  // `calls` is borrowed.
  JobExecutors(std::unique_ptr<JobDaemons> daemons, ExecutorCalls* calls,
               ExecutorsOfJob job, KeepGoing keep_going);
  // As Release().
  ~JobExecutors();

  // The segment of this job that daemons of an earlier scheduler have kept, or
  // nullptr: the job then starts as any other. Waits until it is known which of
  // them are alive.
  absl::StatusOr<JobSegment*> FindKeptSegment();
  // Goes on with it and with them, as Start(), OpenSegment() and Tick() do
  // otherwise.
  // Instead, Release() has them let go of it.
  absl::Status TakeOver();

  // Starts the daemons that are missing, without waiting for them, but for
  // those of an earlier scheduler, as FindKeptSegment() does.
  absl::Status Start();
  // Unavailable: naming those that did not register in time.
  absl::Status WaitUntilRegistered();
  // Has a sampler read every value of the dataset. Daemons are attached to
  // these contents alone from then on. FailedPrecondition: the job began with
  // others.
  absl::StatusOr<ValidatedDataset> ValidateDataset();
  // Makes the segment; the next Tick() attaches all daemons to it.
  absl::Status OpenSegment(const SegmentOptions& options);
  // Attaches daemons that came back; OK while the job may go on.
  absl::Status Tick();
  // Stops the queue, detaches everybody (who does not let go is killed),
  // destroys the segment; the daemons are nobody's from then on. Idempotent.
  void Release();

  // Each borrows this.
  JobCalls calls() { return JobCalls(&caller_); }
  JobRanking ranking() { return JobRanking(&caller_); }
  // Only once the segment is open.
  JobEvaluation evaluation() { return JobEvaluation(&caller_, segment_.get()); }

  JobSegment& segment() { return *segment_; }  // Only once it is open.
  uint64_t segment_bytes() const {
    return segment_ == nullptr ? 0 : segment_->total_bytes();
  }
  // Bytes that trainers share for an evaluation that is under way.
  uint64_t scratch_bytes() const {
    return segment_ == nullptr ? 0 : segment_->scratch_bytes();
  }
  // As JobDaemons has them.
  MemoryUse MeasureMemory() { return daemons_->MeasureMemory(); }
  uint32_t restarts() const { return daemons_->restarts(); }
  std::vector<ExecutorView> Views() const { return daemons_->Views(); }

 private:
  absl::Status WaitForSurvivors();
  // Who has not registered for too long is lost, if the job can do without.
  absl::Status LoseTheOverdue();
  absl::Status Attach(const std::string& name);
  absl::Status CallAttach(const AttachTicket& ticket);
  void LetGoOfSegment();

  const std::unique_ptr<JobDaemons> daemons_;
  ExecutorCaller caller_;
  JobDatasetCheck dataset_check_;
  std::unique_ptr<JobSegment> segment_;
  Deadline complete_;  // When all daemons were registered last.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_EXECUTORS_H_
