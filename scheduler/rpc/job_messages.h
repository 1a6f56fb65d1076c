// Jobs and executors as messages of proto/fgnn/v1/job_service.proto.
#ifndef FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_
#define FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/files/run_removal.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

void ToMessage(const ExecutorView& view, v1::Executor* message);
void ToMessage(const Job& job, v1::Job* message);
// Tells of a job that was deleted, and what became of its run's folder.
void ToMessage(const Job& job, const RemovedRun& removed,
               v1::DeleteJobResponse* message);
// Returns the conditions of the request, all but its limit. InvalidArgument: a
// number in `states` is no state.
absl::StatusOr<JobFilter> FilterOf(const v1::ListJobsRequest& request);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_
