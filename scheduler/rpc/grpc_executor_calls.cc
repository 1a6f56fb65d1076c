#include "scheduler/rpc/grpc_executor_calls.h"

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <memory>
#include <utility>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/rpc/call_events.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/executor_proto.h"
#include "shared/rpc/job_hosts_proto.h"
#include "shared/rpc/status.h"

namespace fgnn {
namespace {

// Makes a call; `method` is an Async… function of the stub. All runs on this
// thread, so that the caller's keep_going needs no lock.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(
    const std::string& socket, const Patience& patience,
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*method)(
        grpc::ClientContext*, const Request&, grpc::CompletionQueue*),
    const Request& request) {
  FGNN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                        MakeChannel(socket));
  Stub stub(std::move(channel));
  grpc::ClientContext context;
  SetDeadline(context, patience.timeout);
  grpc::CompletionQueue queue;
  grpc::Status result;
  Response response;
  const auto reader = (stub.*method)(&context, request, &queue);
  reader->Finish(&response, &result, nullptr);
  // An error of keep_going ends the call early and is the result.
  absl::Status stopped;
  AwaitEvent(queue, [&] {
    if (!stopped.ok() || patience.keep_going == nullptr) return;
    stopped = patience.keep_going();
    if (!stopped.ok()) context.TryCancel();
  });
  DrainEvents(queue);
  // A daemon that ends cancels the calls that outlast its patience.
  if (stopped.ok() && result.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::UnavailableError("the daemon ended the call");
  }
  FGNN_RETURN_IF_ERROR(stopped.ok() ? FromGrpc(result) : stopped);
  return response;
}

// Returns a request that names a job.
template <typename Request>
Request Naming(const std::string& job_id) {
  Request request;
  request.set_job_id(job_id);
  return request;
}

// Returns a request that names a job and a file.
template <typename Request>
Request Naming(const std::string& job_id, const std::filesystem::path& path) {
  auto request = Naming<Request>(job_id);
  request.set_path(path.string());
  return request;
}

using Executor = v1::ExecutorService::Stub;
using Sampler = v1::SamplerService::Stub;
using Trainer = v1::TrainerService::Stub;
using Exchange = v1::ReachService::Stub;

// Each call has a connection of its own. Calls are rare, and a restarted daemon
// is called without the back-off of its predecessor's connection.
class GrpcExecutorCalls final : public ExecutorCalls {
 public:
  absl::Status Open(const std::string& socket, const OpenJobRequest& request,
                    const Patience& patience) override {
    return Call(socket, patience, &Executor::AsyncOpenJob, ToProto(request))
        .status();
  }

  absl::Status Attach(const std::string& socket,
                      const AttachJobRequest& request,
                      const Patience& patience) override {
    return Call(socket, patience, &Executor::AsyncAttachJob, ToProto(request))
        .status();
  }

  absl::Status Detach(const std::string& socket, const std::string& job_id,
                      const Patience& patience) override {
    return Call(socket, patience, &Executor::AsyncDetachJob,
                Naming<v1::DetachJobRequest>(job_id))
        .status();
  }

  absl::Status Stop(const std::string& socket,
                    const Patience& patience) override {
    return Call(socket, patience, &Executor::AsyncStop, v1::StopRequest())
        .status();
  }

  absl::StatusOr<std::string> ReadMetrics(const std::string& socket,
                                          const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(v1::ReadMetricsResponse response,
                          Call(socket, patience, &Executor::AsyncReadMetrics,
                               v1::ReadMetricsRequest()));
    return std::move(*response.mutable_text());
  }

  absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& socket, const ProfileSamplingRequest& request,
      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(const v1::ProfileSamplingResponse response,
                          Call(socket, patience, &Sampler::AsyncProfileSampling,
                               ToProto(request)));
    return FromProto(response);
  }

  absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& socket, const std::string& job_id,
      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(const v1::ValidateDatasetResponse response,
                          Call(socket, patience, &Sampler::AsyncValidateDataset,
                               Naming<v1::ValidateDatasetRequest>(job_id)));
    return FromProto(response);
  }

  absl::Status CountInputNodes(const std::string& socket,
                               const CountInputNodesRequest& request,
                               const Patience& patience) override {
    return Call(socket, patience, &Sampler::AsyncCountInputNodes,
                ToProto(request))
        .status();
  }

  absl::Status WriteCounts(const std::string& socket, const std::string& job_id,
                           const std::filesystem::path& path,
                           const Patience& patience) override {
    return Call(socket, patience, &Sampler::AsyncWriteCounts,
                Naming<v1::WriteCountsRequest>(job_id, path))
        .status();
  }

  absl::StatusOr<RankedVertices> RankVertices(
      const std::string& socket, const RankVerticesRequest& request,
      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(
        const v1::RankVerticesResponse response,
        Call(socket, patience, &Sampler::AsyncRankVertices, ToProto(request)));
    return FromProto(response);
  }

  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::string& socket, const ProfileTrainingRequest& request,
      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(const v1::ProfileTrainingResponse response,
                          Call(socket, patience, &Trainer::AsyncProfileTraining,
                               ToProto(request)));
    return FromProto(response);
  }

  absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                      const EvaluateRequest& request,
                                      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(
        const v1::EvaluateResponse response,
        Call(socket, patience, &Trainer::AsyncEvaluate, ToProto(request)));
    return FromProto(response);
  }

  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointRequest& request,
                              const Patience& patience) override {
    return Call(socket, patience, &Trainer::AsyncSaveCheckpoint,
                ToProto(request))
        .status();
  }

  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string& socket, const std::filesystem::path& path,
      const Patience& patience) override {
    v1::DescribeCheckpointRequest request;
    request.set_path(path.string());
    FGNN_ASSIGN_OR_RETURN(
        const v1::DescribeCheckpointResponse response,
        Call(socket, patience, &Trainer::AsyncDescribeCheckpoint, request));
    return FromProto(response);
  }

  absl::StatusOr<std::string> LoadCheckpoint(
      const std::string& socket, const std::string& job_id,
      const std::filesystem::path& path, const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(
        v1::LoadCheckpointResponse response,
        Call(socket, patience, &Trainer::AsyncLoadCheckpoint,
             Naming<v1::LoadCheckpointRequest>(job_id, path)));
    return std::move(*response.mutable_warning());
  }

  absl::StatusOr<std::vector<HostReach>> ReadReach(
      const std::string& socket, const std::string& job_id,
      const Patience& patience) override {
    FGNN_ASSIGN_OR_RETURN(const v1::ReadReachResponse response,
                          Call(socket, patience, &Exchange::AsyncReadReach,
                               Naming<v1::ReadReachRequest>(job_id)));
    return FromProto(response.reaches());
  }

  absl::Status TradeChunks(const std::string& socket, const std::string& job_id,
                           uint64_t scratch,
                           const Patience& patience) override {
    auto request = Naming<v1::TradeChunksRequest>(job_id);
    request.set_scratch(scratch);
    return Call(socket, patience, &Exchange::AsyncTradeChunks, request)
        .status();
  }
};

}  // namespace

std::unique_ptr<ExecutorCalls> NewGrpcExecutorCalls() {
  return std::make_unique<GrpcExecutorCalls>();
}

}  // namespace fgnn
