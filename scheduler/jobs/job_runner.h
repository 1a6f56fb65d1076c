// Runs the jobs of the queue, one after the other, on a thread of its own.
#ifndef FGNN_SCHEDULER_JOBS_JOB_RUNNER_H_
#define FGNN_SCHEDULER_JOBS_JOB_RUNNER_H_

#include <vector>

#include "scheduler/jobs/job.h"
#include "scheduler/jobs/job_run.h"
#include "scheduler/planning/placement.h"
#include "shared/base/thread.h"

namespace fgnn {

struct JobRunnerOptions {
  JobEnvironment environment;
  SpecDecoder decode;
  // The daemons that are kept ready between jobs. Empty: those of the job
  // before, until the service ends.
  std::vector<ExecutorPlacement> kept;
};

class JobRunner {
 public:
  explicit JobRunner(JobRunnerOptions options);
  // Waits for the thread: close the table and cancel what runs before.
  ~JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

 private:
  void RunJobs();
  void RunOne(const Job& job);
  void KeepDaemons();

  const JobRunnerOptions options_;
  Thread thread_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_RUNNER_H_
