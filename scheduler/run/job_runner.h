// Runs the jobs that the table starts, each on a thread of its own.
#ifndef FGNN_SCHEDULER_RUN_JOB_RUNNER_H_
#define FGNN_SCHEDULER_RUN_JOB_RUNNER_H_

#include <atomic>
#include <list>
#include <vector>

#include "scheduler/planning/memory_ledger.h"
#include "scheduler/planning/placement.h"
#include "scheduler/run/job_run.h"
#include "scheduler/store/job.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

struct JobRunnerOptions {
  JobEnvironment environment;  // `memory` is set by the runner.
  // Daemons that are kept ready on devices without a job, numbered by
  // PlaceExecutors(). Empty: the daemons of earlier jobs stay until other
  // daemons need their devices or the service ends.
  std::vector<ExecutorPlacement> kept;
};

class JobRunner {
 public:
  explicit JobRunner(JobRunnerOptions options);
  // Waits for the threads. The caller closes the table and cancels the running
  // jobs before.
  ~JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

 private:
  // A job's thread. There are as many as the table lets run at once.
  struct RunningJob {
    std::atomic<bool> has_ended = false;
    Thread thread;
  };

  void StartJobs();
  void StartNext();
  absl::Status StartThread(const Job& job);
  void RunOne(const Job& job);
  // Writes the summary. For a completed job it waits for a while for room on
  // the disk.
  absl::Status WriteSummary(const JobRun& run, const std::string& id,
                            JobState state, const absl::Status& error);
  void KeepDaemons();

  const JobRunnerOptions options_;
  MemoryLedger memory_;
  // Whether no job has ended since KeepDaemons().
  std::atomic<bool> are_kept_ = false;
  std::list<RunningJob> running_;  // Running jobs, for thread_ alone.
  Thread thread_;                  // Declared last, so that it stops first.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_JOB_RUNNER_H_
