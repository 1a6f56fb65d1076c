#include "sampler_service/rpc/sampler_calls.h"

#include <grpcpp/server_context.h>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/rpc/executor_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

class SamplerService final : public v1::SamplerService::Service {
 public:
  explicit SamplerService(SamplerCalls* calls) : calls_(calls) {}

  grpc::Status ProfileSampling(grpc::ServerContext* context,
                               const v1::ProfileSamplingRequest* request,
                               v1::ProfileSamplingResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          const SamplingProfile profile,
          calls_->ProfileSampling(FromProto(*request), LimitsOf(*context)));
      *response = ToProto(profile);
      return absl::OkStatus();
    });
  }

  grpc::Status ValidateDataset(grpc::ServerContext* context,
                               const v1::ValidateDatasetRequest* request,
                               v1::ValidateDatasetResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          const ValidatedDataset dataset,
          calls_->ValidateDataset(request->job_id(), LimitsOf(*context)));
      *response = ToProto(dataset);
      return absl::OkStatus();
    });
  }

  grpc::Status CountInputNodes(
      grpc::ServerContext* context, const v1::CountInputNodesRequest* request,
      v1::CountInputNodesResponse* /*response*/) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const CountInputNodesRequest read,
                            FromProto(*request));
      return calls_->CountInputNodes(read, LimitsOf(*context));
    });
  }

  grpc::Status WriteCounts(grpc::ServerContext* context,
                           const v1::WriteCountsRequest* request,
                           v1::WriteCountsResponse* /*response*/) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_RETURN_IF_ERROR(CheckAbsolute("counts", request->path()));
      return calls_->WriteCounts(request->job_id(), request->path());
    });
  }

  grpc::Status RankVertices(grpc::ServerContext* context,
                            const v1::RankVerticesRequest* request,
                            v1::RankVerticesResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          const RankedVertices ranked,
          calls_->RankVertices(FromProto(*request), LimitsOf(*context)));
      *response = ToProto(ranked);
      return absl::OkStatus();
    });
  }

 private:
  SamplerCalls* const calls_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeSamplerService(SamplerCalls* calls) {
  return std::make_shared<SamplerService>(calls);
}

}  // namespace fgnn
