// Runs the jobs that the table has start, each on a thread of its own.
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
  JobEnvironment environment;  // Its memory is the runner's.
  SpecDecoder decode;          // Called on the jobs' threads.
  // The daemons that are kept ready where no job runs, as PlaceExecutors()
  // numbers them. Empty: those of the jobs before, until others are in their
  // way or the service ends.
  std::vector<ExecutorPlacement> kept;
};

class JobRunner {
 public:
  explicit JobRunner(JobRunnerOptions options);
  // Waits for the threads: close the table and cancel what runs before.
  ~JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

 private:
  // As many as the table lets run at once.
  struct RunningJob {
    std::atomic<bool> has_ended = false;
    Thread thread;
  };

  void StartJobs();
  void StartNext();
  absl::Status StartThread(const Job& job);
  void RunOne(const Job& job);
  // The summary of a completed job waits for room on the disk, for a while.
  absl::Status WriteSummary(const JobRun& run, const std::string& id,
                            JobState state, const absl::Status& error);
  void KeepDaemons();

  const JobRunnerOptions options_;
  MemoryLedger memory_;
  std::atomic<bool> are_kept_ = false;  // No job has ended since KeepDaemons().
  std::list<RunningJob> running_;       // For thread_ alone.
  Thread thread_;                       // Last: stops before what it uses goes.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_JOB_RUNNER_H_
