// ExecutorCalls over the daemons' sockets.
#ifndef FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_
#define FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_

#include <filesystem>
#include <string>

#include "scheduler/executors/executor_calls.h"

namespace fgnn {

// Thread-safe. Each call has a connection of its own. Calls are rare, and a
// restarted daemon is called without the back-off of its predecessor's
// connection.
class GrpcExecutorCalls final : public ExecutorCalls {
 public:
  absl::Status Open(const std::string& socket, const OpenJobRequest& request,
                    const Patience& patience) override;
  absl::Status Attach(const std::string& socket,
                      const AttachJobRequest& request,
                      const Patience& patience) override;
  absl::Status Detach(const std::string& socket, const std::string& job_id,
                      const Patience& patience) override;
  absl::Status Stop(const std::string& socket,
                    const Patience& patience) override;
  absl::StatusOr<std::string> ReadMetrics(const std::string& socket,
                                          const Patience& patience) override;
  absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& socket, const ProfileSamplingRequest& request,
      const Patience& patience) override;
  absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& socket, const std::string& job_id,
      const Patience& patience) override;
  absl::Status CountInputNodes(const std::string& socket,
                               const CountInputNodesRequest& request,
                               const Patience& patience) override;
  absl::Status WriteCounts(const std::string& socket, const std::string& job_id,
                           const std::filesystem::path& path,
                           const Patience& patience) override;
  absl::StatusOr<RankedVertices> RankVertices(
      const std::string& socket, const RankVerticesRequest& request,
      const Patience& patience) override;
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::string& socket, const ProfileTrainingRequest& request,
      const Patience& patience) override;
  absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                      const EvaluateRequest& request,
                                      const Patience& patience) override;
  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointRequest& request,
                              const Patience& patience) override;
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string& socket, const std::filesystem::path& path,
      const Patience& patience) override;
  absl::StatusOr<std::string> LoadCheckpoint(const std::string& socket,
                                             const std::string& job_id,
                                             const std::filesystem::path& path,
                                             const Patience& patience) override;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_GRPC_EXECUTOR_CALLS_H_
