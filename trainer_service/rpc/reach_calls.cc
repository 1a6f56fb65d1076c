#include "trainer_service/rpc/reach_calls.h"

#include <grpcpp/server_context.h>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/rpc/job_hosts_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

class ReachService final : public v1::ReachService::Service {
 public:
  explicit ReachService(ReachCalls* calls) : calls_(calls) {}

  grpc::Status ReadReach(grpc::ServerContext* context,
                         const v1::ReadReachRequest* request,
                         v1::ReadReachResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const std::vector<HostReach> reaches,
                            calls_->ReadReach(request->job_id()));
      *response->mutable_reaches() = ToProto(reaches);
      return absl::OkStatus();
    });
  }

  grpc::Status TradeChunks(grpc::ServerContext* context,
                           const v1::TradeChunksRequest* request,
                           v1::TradeChunksResponse* /*response*/) override {
    return ServeCall(*context, [&] {
      return calls_->TradeChunks(request->job_id(), request->scratch(),
                                 LimitsOf(*context));
    });
  }

 private:
  ReachCalls* const calls_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeReachService(ReachCalls* calls) {
  return std::make_shared<ReachService>(calls);
}

}  // namespace fgnn
