// The parts of the job table, for JobTable and JobDispatcher.
#ifndef FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_
#define FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/device_account.h"
#include "scheduler/jobs/job_changes.h"
#include "scheduler/jobs/job_intake.h"
#include "scheduler/jobs/job_lookup.h"
#include "scheduler/jobs/job_queue.h"
#include "scheduler/jobs/job_steps.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

struct JobTableParts {
  JobTableParts(JobStore of_jobs, JobIntake::Options options,
                std::vector<ServiceDevice> devices)
      : store(std::move(of_jobs)),
        jobs(&store, &changes),
        queue(std::move(devices), &jobs, &account, &changes),
        steps(&jobs, &queue),
        lookup(&store, &jobs, &queue),
        intake(std::move(options), &store, &jobs, &queue, &lookup) {}

  // Ids of the jobs that were found running, and whether one of them goes on.
  // Both are written before the table is open, and are not guarded.
  std::vector<std::string> interrupted;
  bool resumes_interrupted = false;

  std::mutex mutex;
  // Guarded by the mutex:
  JobStore store;
  JobChanges changes;
  ActiveJobs jobs;
  DeviceAccount account;
  JobQueue queue;
  JobSteps steps;
  JobLookup lookup;
  JobIntake intake;
  bool any_submitted = false;
  bool closed = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_
