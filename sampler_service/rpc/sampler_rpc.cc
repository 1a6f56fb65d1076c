#include "sampler_service/rpc/sampler_rpc.h"

#include <grpcpp/server_context.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/measured_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

absl::Status CheckCall(const grpc::ServerContext& context) {
  if (context.IsCancelled()) {
    return absl::CancelledError("the caller has gone");
  }
  if (std::chrono::system_clock::now() >= context.deadline()) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::OkStatus();
}

// Returns an error if the path is relative. An absolute path names the same
// file for the scheduler and this daemon, whatever folder the daemon runs in.
absl::Status CheckAbsolute(const std::string& path) {
  if (std::filesystem::path(path).is_absolute()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("path '", path, "' of the counts must be absolute"));
}

}  // namespace

class SamplerRpc::Impl final : public v1::SamplerService::Service {
 public:
  explicit Impl(SamplerCalls* calls) : calls_(calls) {}

  grpc::Status ProfileSampling(grpc::ServerContext* context,
                               const v1::ProfileSamplingRequest* request,
                               v1::ProfileSamplingResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(
          const SamplingProfile profile,
          calls_->ProfileSampling(spec, request->num_batches(),
                                  [context] { return CheckCall(*context); }));
      *response = ToProto(profile);
      return absl::OkStatus();
    });
  }

  grpc::Status ValidateDataset(grpc::ServerContext* context,
                               const v1::ValidateDatasetRequest* request,
                               v1::ValidateDatasetResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(const SamplerCalls::DatasetAnswer answer,
                            calls_->ValidateDataset(spec, [context] {
                              return CheckCall(*context);
                            }));
      response->set_state(answer.state);
      response->set_content(answer.content);
      response->set_warning(PrintableText(answer.warning));
      return absl::OkStatus();
    });
  }

  grpc::Status CountInputNodes(grpc::ServerContext* context,
                               const v1::CountInputNodesRequest* request,
                               v1::CountInputNodesResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_RETURN_IF_ERROR(CheckAbsolute(request->path()));
      FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(
          const uint64_t num_batches,
          calls_->CountInputNodes(spec,
                                  {.part = request->part(),
                                   .num_parts = request->num_parts(),
                                   .path = request->path()},
                                  [context] { return CheckCall(*context); }));
      response->set_num_batches(num_batches);
      return absl::OkStatus();
    });
  }

  grpc::Status WriteCounts(grpc::ServerContext* context,
                           const v1::WriteCountsRequest* request,
                           v1::WriteCountsResponse* /*response*/) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_RETURN_IF_ERROR(CheckAbsolute(request->path()));
      return calls_->WriteCounts(request->job_id(), request->path());
    });
  }

  grpc::Status RankVertices(grpc::ServerContext* context,
                            const v1::RankVerticesRequest* request,
                            v1::RankVerticesResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(
          const SamplerCalls::RankAnswer answer,
          calls_->RankVertices(
              spec, {request->counts().begin(), request->counts().end()},
              [context] { return CheckCall(*context); }));
      response->set_rank_order_key(answer.rank_order_key);
      response->set_needs_counts(answer.needs_counts);
      return absl::OkStatus();
    });
  }

 private:
  SamplerCalls* const calls_;
};

SamplerRpc::SamplerRpc(SamplerCalls* calls)
    : impl_(std::make_unique<Impl>(calls)) {}

SamplerRpc::~SamplerRpc() = default;

grpc::Service* SamplerRpc::service() { return impl_.get(); }

}  // namespace fgnn
