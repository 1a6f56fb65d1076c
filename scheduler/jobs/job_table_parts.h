// The parts of the job table, for its two faces: JobTable and JobDispatcher.
#ifndef FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_
#define FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/device_account.h"
#include "scheduler/jobs/job_changes.h"
#include "scheduler/jobs/job_intake.h"
#include "scheduler/jobs/job_lookup.h"
#include "scheduler/jobs/job_states.h"
#include "scheduler/jobs/queue_order.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

struct JobTableParts {
  JobTableParts(JobStore of_jobs, JobIntake::Options options,
                std::vector<ServiceDevice> devices, AskHosts hosts)
      : store(std::move(of_jobs)),
        jobs(&store, &changes),
        order(std::move(devices), std::move(hosts), &jobs, &account, &changes),
        states(&store, &jobs, &order, &account),
        lookup(&store, &jobs, &order),
        intake(std::move(options), &store, &jobs, &order, &states, &lookup) {}

  // Ids of the jobs that were found running, and whether one of them goes on.
  // Both are written before the table is open, and are not guarded.
  std::vector<std::string> interrupted;
  bool resumes_interrupted = false;

  Mutex mutex;
  JobStore store ABSL_GUARDED_BY(mutex);
  JobChanges changes ABSL_GUARDED_BY(mutex);
  ActiveJobs jobs ABSL_GUARDED_BY(mutex);
  DeviceAccount account ABSL_GUARDED_BY(mutex);
  QueueOrder order ABSL_GUARDED_BY(mutex);
  JobStates states ABSL_GUARDED_BY(mutex);
  JobLookup lookup ABSL_GUARDED_BY(mutex);
  JobIntake intake ABSL_GUARDED_BY(mutex);
  bool any_submitted ABSL_GUARDED_BY(mutex) = false;
  Deadline last_submission ABSL_GUARDED_BY(mutex) = Deadline::min();
  bool closed ABSL_GUARDED_BY(mutex) = false;
  // Whether jobs that run when the table is closed go on at the next start.
  bool keeps_jobs ABSL_GUARDED_BY(mutex) = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_TABLE_PARTS_H_
