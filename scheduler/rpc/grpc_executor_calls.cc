#include "scheduler/rpc/grpc_executor_calls.h"

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <memory>
#include <utility>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/measured_proto.h"
#include "shared/rpc/status.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kTick{100};

// Waits until the queue's single call has ended. An error of keep_going ends
// the call early and is the result.
absl::Status Await(grpc::CompletionQueue& queue, grpc::ClientContext& context,
                   const Patience& patience) {
  absl::Status stopped;
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    // The event always comes: the call has a deadline.
    const auto next =
        queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kTick);
    if (next != grpc::CompletionQueue::TIMEOUT) return stopped;
    if (!stopped.ok() || patience.keep_going == nullptr) continue;
    stopped = patience.keep_going();
    if (!stopped.ok()) context.TryCancel();
  }
}

// Makes a call; `method` is an Async… function of the stub. All runs on this
// thread, so that the caller's keep_going needs no lock.
template <typename Service, typename Request, typename Response>
absl::Status Call(const std::string& socket, const Patience& patience,
                  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (
                      Service::Stub::*method)(grpc::ClientContext*,
                                              const Request&,
                                              grpc::CompletionQueue*),
                  const Request& request, Response* response) {
  FGNN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                        MakeChannel(socket));
  const std::unique_ptr<typename Service::Stub> stub =
      Service::NewStub(std::move(channel));
  grpc::ClientContext context;
  SetDeadline(context, patience.timeout);
  grpc::CompletionQueue queue;
  grpc::Status result;
  const auto reader = ((*stub).*method)(&context, request, &queue);
  reader->Finish(response, &result, nullptr);
  const absl::Status stopped = Await(queue, context, patience);
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
  return stopped.ok() ? FromGrpc(result) : stopped;
}

absl::Status ParseSpec(const std::string& bytes, v1::JobSpec* spec) {
  return spec->ParseFromString(bytes)
             ? absl::OkStatus()
             : absl::DataLossError("a job's spec cannot be read");
}

}  // namespace

absl::Status GrpcExecutorCalls::Attach(const std::string& socket,
                                       const AttachCall& call,
                                       const Patience& patience) {
  v1::AttachJobRequest request;
  request.set_job_id(call.job_id);
  FGNN_RETURN_IF_ERROR(ParseSpec(call.spec_bytes, request.mutable_spec()));
  request.set_owner(PlainIndex(call.owner));
  request.set_overflow_block(call.overflow_block.has_value()
                                 ? static_cast<int32_t>(*call.overflow_block)
                                 : -1);
  request.set_scheduler_generation(call.scheduler_generation);
  request.set_device(call.device);
  v1::AttachJobResponse response;
  return Call<v1::ExecutorService>(socket, patience,
                                   &v1::ExecutorService::Stub::AsyncAttachJob,
                                   request, &response);
}

absl::Status GrpcExecutorCalls::Detach(const std::string& socket,
                                       const std::string& job_id,
                                       const Patience& patience) {
  v1::DetachJobRequest request;
  request.set_job_id(job_id);
  v1::DetachJobResponse response;
  return Call<v1::ExecutorService>(socket, patience,
                                   &v1::ExecutorService::Stub::AsyncDetachJob,
                                   request, &response);
}

absl::Status GrpcExecutorCalls::Stop(const std::string& socket,
                                     const Patience& patience) {
  v1::StopResponse response;
  return Call<v1::ExecutorService>(socket, patience,
                                   &v1::ExecutorService::Stub::AsyncStop,
                                   v1::StopRequest(), &response);
}

absl::StatusOr<std::string> GrpcExecutorCalls::ReadMetrics(
    const std::string& socket, const Patience& patience) {
  v1::ReadMetricsResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::ExecutorService>(
      socket, patience, &v1::ExecutorService::Stub::AsyncReadMetrics,
      v1::ReadMetricsRequest(), &response));
  return std::move(*response.mutable_text());
}

absl::StatusOr<SamplingProfile> GrpcExecutorCalls::ProfileSampling(
    const std::string& socket, const std::string& spec_bytes,
    uint32_t num_batches, const Patience& patience) {
  v1::ProfileSamplingRequest request;
  FGNN_RETURN_IF_ERROR(ParseSpec(spec_bytes, request.mutable_spec()));
  request.set_num_batches(num_batches);
  v1::ProfileSamplingResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::SamplerService>(
      socket, patience, &v1::SamplerService::Stub::AsyncProfileSampling,
      request, &response));
  return FromProto(response);
}

absl::StatusOr<ValidatedDataset> GrpcExecutorCalls::ValidateDataset(
    const std::string& socket, const std::string& spec_bytes,
    const Patience& patience) {
  v1::ValidateDatasetRequest request;
  FGNN_RETURN_IF_ERROR(ParseSpec(spec_bytes, request.mutable_spec()));
  v1::ValidateDatasetResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::SamplerService>(
      socket, patience, &v1::SamplerService::Stub::AsyncValidateDataset,
      request, &response));
  return ValidatedDataset{.state = response.state(),
                          .content = response.content(),
                          .warning = response.warning()};
}

absl::Status GrpcExecutorCalls::CountInputNodes(const std::string& socket,
                                                const CountCall& call,
                                                const Patience& patience) {
  v1::CountInputNodesRequest request;
  FGNN_RETURN_IF_ERROR(ParseSpec(call.spec_bytes, request.mutable_spec()));
  request.set_part(call.part);
  request.set_num_parts(call.num_parts);
  request.set_path(call.path.string());
  v1::CountInputNodesResponse response;
  return Call<v1::SamplerService>(
      socket, patience, &v1::SamplerService::Stub::AsyncCountInputNodes,
      request, &response);
}

absl::Status GrpcExecutorCalls::WriteCounts(const std::string& socket,
                                            const std::string& job_id,
                                            const std::filesystem::path& path,
                                            const Patience& patience) {
  v1::WriteCountsRequest request;
  request.set_job_id(job_id);
  request.set_path(path.string());
  v1::WriteCountsResponse response;
  return Call<v1::SamplerService>(socket, patience,
                                  &v1::SamplerService::Stub::AsyncWriteCounts,
                                  request, &response);
}

absl::StatusOr<RankedVertices> GrpcExecutorCalls::RankVertices(
    const std::string& socket, const RankCall& call, const Patience& patience) {
  v1::RankVerticesRequest request;
  FGNN_RETURN_IF_ERROR(ParseSpec(call.spec_bytes, request.mutable_spec()));
  for (const std::filesystem::path& path : call.counts) {
    request.add_counts(path.string());
  }
  v1::RankVerticesResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::SamplerService>(
      socket, patience, &v1::SamplerService::Stub::AsyncRankVertices, request,
      &response));
  return RankedVertices{.rank_order_key = response.rank_order_key(),
                        .needs_counts = response.needs_counts()};
}

absl::StatusOr<TrainingProfile> GrpcExecutorCalls::ProfileTraining(
    const std::string& socket, const std::string& spec_bytes,
    const std::vector<HopSize>& hops, const Patience& patience) {
  v1::ProfileTrainingRequest request;
  FGNN_RETURN_IF_ERROR(ParseSpec(spec_bytes, request.mutable_spec()));
  *request.mutable_hops() = ToProto(hops);
  v1::ProfileTrainingResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::TrainerService>(
      socket, patience, &v1::TrainerService::Stub::AsyncProfileTraining,
      request, &response));
  return FromProto(response);
}

absl::StatusOr<Evaluation> GrpcExecutorCalls::Evaluate(
    const std::string& socket, const EvaluateCall& call,
    const Patience& patience) {
  v1::EvaluateRequest request;
  request.set_job_id(call.job_id);
  FGNN_RETURN_IF_ERROR(ParseSpec(call.spec_bytes, request.mutable_spec()));
  request.set_checkpoint(call.checkpoint);
  for (const std::string& split : call.splits) request.add_splits(split);
  request.set_scratch(call.scratch);
  v1::EvaluateResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::TrainerService>(
      socket, patience, &v1::TrainerService::Stub::AsyncEvaluate, request,
      &response));
  Evaluation evaluation;
  evaluation.seconds = response.seconds();
  for (const v1::SplitScore& score : response.scores()) {
    evaluation.scores.push_back(FromProto(score));
  }
  return evaluation;
}

absl::Status GrpcExecutorCalls::SaveCheckpoint(const std::string& socket,
                                               const SaveCheckpointCall& call,
                                               const Patience& patience) {
  v1::SaveCheckpointRequest request;
  request.set_job_id(call.job_id);
  request.set_path(call.path.string());
  request.set_folder_device(call.folder.device);
  request.set_folder_inode(call.folder.inode);
  request.set_epoch(call.epochs_done);
  request.set_run_state(call.run_state);
  request.set_version(call.version);
  v1::SaveCheckpointResponse response;
  return Call<v1::TrainerService>(
      socket, patience, &v1::TrainerService::Stub::AsyncSaveCheckpoint, request,
      &response);
}

absl::StatusOr<CheckpointProfile> GrpcExecutorCalls::DescribeCheckpoint(
    const std::string& socket, const std::filesystem::path& path,
    const Patience& patience) {
  v1::DescribeCheckpointRequest request;
  request.set_path(path.string());
  v1::DescribeCheckpointResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::TrainerService>(
      socket, patience, &v1::TrainerService::Stub::AsyncDescribeCheckpoint,
      request, &response));
  return CheckpointProfile{.version = response.version(),
                           .epochs_done = response.epoch(),
                           .seed = response.seed(),
                           .run_state = response.run_state()};
}

absl::StatusOr<std::string> GrpcExecutorCalls::LoadCheckpoint(
    const std::string& socket, const std::string& job_id,
    const std::filesystem::path& path, const Patience& patience) {
  v1::LoadCheckpointRequest request;
  request.set_job_id(job_id);
  request.set_path(path.string());
  v1::LoadCheckpointResponse response;
  FGNN_RETURN_IF_ERROR(Call<v1::TrainerService>(
      socket, patience, &v1::TrainerService::Stub::AsyncLoadCheckpoint, request,
      &response));
  return response.warning();
}

}  // namespace fgnn
