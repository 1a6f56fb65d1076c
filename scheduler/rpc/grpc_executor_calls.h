// ExecutorCalls over the daemons' sockets.
#ifndef FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_
#define FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_

#include <memory>

#include "scheduler/executors/executor_calls.h"

namespace fgnn {

std::unique_ptr<ExecutorCalls> NewGrpcExecutorCalls();

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_
