// The scheduler's calls of a trainer beside those of ExecutorService:
// TrainerService of fgnn/v1/executor.proto. The header needs neither gRPC nor
// protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
#define FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/executors/call_limits.h"
#include "shared/executors/executor_messages.h"
#include "shared/measured/profiles.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

// Called on threads of the server, several at once. The proto documents the
// calls and their errors.
class TrainerCalls {
 public:
  virtual ~TrainerCalls() = default;
  virtual absl::StatusOr<TrainingProfile> ProfileTraining(
      const ProfileTrainingRequest& request) = 0;
  virtual absl::StatusOr<Evaluation> Evaluate(const EvaluateRequest& request,
                                              const CallLimits& limits) = 0;
  virtual absl::Status SaveCheckpoint(const SaveCheckpointRequest& request,
                                      const CallLimits& limits) = 0;
  virtual absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path) = 0;
  // Returns a warning for the job's user; empty: there is none.
  virtual absl::StatusOr<std::string> LoadCheckpoint(
      const std::string& job_id, const std::filesystem::path& path,
      const CallLimits& limits) = 0;
};

// Returns the service for ExecutorServer::Start(). `calls` is borrowed until
// the server that has the service is shut down.
std::shared_ptr<grpc::Service> MakeTrainerService(TrainerCalls* calls);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
