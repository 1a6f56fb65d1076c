// The scheduler's calls of an exchange beside those of ExecutorService:
// ReachService of fgnn/v1/executor.proto. The header needs neither gRPC nor
// protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_REACH_CALLS_H_
#define FGNN_TRAINER_SERVICE_RPC_REACH_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/executors/call_limits.h"
#include "shared/measured/host_reach.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

// Called on threads of the server, several at once. The proto documents the
// calls and their errors.
class ReachCalls {
 public:
  virtual ~ReachCalls() = default;
  virtual absl::StatusOr<std::vector<HostReach>> ReadReach(
      const std::string& job_id) = 0;
  virtual absl::Status TradeChunks(const std::string& job_id, uint64_t scratch,
                                   const CallLimits& limits) = 0;
};

// Returns the service for ExecutorDaemon::Start(). `calls` is borrowed until
// the server that has the service is shut down.
std::shared_ptr<grpc::Service> MakeReachService(ReachCalls* calls);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_REACH_CALLS_H_
