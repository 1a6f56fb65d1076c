// The scheduler's calls of a sampler beside those of ExecutorService:
// SamplerService of fgnn/v1/executor.proto. The header needs neither gRPC nor
// protobuf.
#ifndef FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
#define FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_

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
class SamplerCalls {
 public:
  virtual ~SamplerCalls() = default;
  virtual absl::StatusOr<SamplingProfile> ProfileSampling(
      const ProfileSamplingRequest& request, const CallLimits& limits) = 0;
  virtual absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& job_id, const CallLimits& limits) = 0;
  virtual absl::Status CountInputNodes(const CountInputNodesRequest& request,
                                       const CallLimits& limits) = 0;
  virtual absl::Status WriteCounts(const std::string& job_id,
                                   const std::filesystem::path& path) = 0;
  virtual absl::StatusOr<RankedVertices> RankVertices(
      const RankVerticesRequest& request, const CallLimits& limits) = 0;
};

// Returns the service for ExecutorServer::Start(). `calls` is borrowed until
// the server that has the service is shut down.
std::shared_ptr<grpc::Service> MakeSamplerService(SamplerCalls* calls);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
