// Jobs and executors as messages of proto/fgnn/v1/job_service.proto.
#ifndef FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_
#define FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_

#include "fgnn/v1/job_service.pb.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/store/job.h"

namespace fgnn {

void ToMessage(const ExecutorView& view, v1::Executor* message);
void ToMessage(const Job& job, v1::Job* message);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_MESSAGES_H_
