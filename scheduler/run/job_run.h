// One job from its start to its end, on a thread of its own.
//
//   Prepare   validate the dataset, start daemons, measure, plan, make the
//             run's folder, make the segment, attach everybody; a job that
//             is resumed goes on from a checkpoint of its folder, or, if its
//             scheduler alone died, with the segment and the daemons it had
//             (run_start.h)
//   Train     per epoch: open it (up to the next checkpoint), wait for the
//             last commit, record, evaluate, checkpoint
//   Test      the best checkpoint on the test split
//
// Scores, records, checkpoints, caches, memory and progress of a run are
// classes of their own (run_parts.h). JobRun has the sequence.
#ifndef FGNN_SCHEDULER_RUN_JOB_RUN_H_
#define FGNN_SCHEDULER_RUN_JOB_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/figures/epoch_sum.h"
#include "scheduler/files/run_summary.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_parts.h"
#include "scheduler/run/run_preemption.h"
#include "scheduler/store/job.h"

namespace fgnn {

// Not thread-safe; runs of several jobs may be under way at once.
class JobRun {
 public:
  JobRun(Job job, const JobEnvironment& environment);
  JobRun(const JobRun&) = delete;
  JobRun& operator=(const JobRun&) = delete;

  // Runs the job. Returns OK, or why it did not get to its end. A cancelled job
  // returns the reason given to JobTable::Cancel(). A job that is
  // preempted returns Aborted.
  absl::Status Run();
  // Returns why the job was preempted; kNone: it was not. The job can go on
  // from its folder later.
  PreemptionCause preemption() const { return preemption_.why(); }
  // Releases all that the job has in memory and in the daemons.
  void Release();
  // Writes the summary if the run has a folder by now. Leaves the folder alone
  // if this start has not changed it yet. To be called after Release().
  absl::Status WriteSummary(JobState state, const absl::Status& error) const;
  // Unlocks the run's folder, so that another job may have it. To be called
  // before the table learns that the job is over or waits again.
  void LeaveFolder() { run_.started.reset(); }

 private:
  absl::Status RunToEnd();
  absl::Status Prepare();
  absl::Status RunEpoch(uint32_t epoch);
  // Trains the epoch to its end, with the checkpoints within it.
  absl::Status TrainEpoch(uint32_t epoch, EpochFacts& facts);
  // Returns the version at which training stops next.
  uint64_t NextStop(uint64_t version, uint64_t epoch_end) const;
  absl::Status WaitForVersion(uint64_t version);
  absl::Status Validate(uint32_t epoch, EpochFacts& facts);
  absl::Status Test();
  // Evaluates as JobEvaluation does, and waits for a passing shortage.
  absl::StatusOr<Evaluation> Evaluate(const std::string& checkpoint,
                                      const std::vector<std::string>& splits);
  absl::Status KeepGoing();
  bool IsOver() const {
    return parts_.scores.IsOver(run_.started->epochs_done);
  }
  Scores ScoresOfBest() const;
  SummaryScores ScoresInSummary() const;
  std::vector<std::string> Warnings() const;

  RunParts parts_;
  RunContext& run_;
  RunPreemption preemption_;
  std::string test_warning_;  // Reason why nothing was tested; empty: none.
  uint32_t restarts_ = 0;  // Restarts of daemons, set once they are released.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_JOB_RUN_H_
