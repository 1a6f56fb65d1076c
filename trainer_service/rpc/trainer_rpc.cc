#include "trainer_service/rpc/trainer_rpc.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <chrono>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/measured_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

CallLimits LimitsOf(const grpc::ServerContext& context) {
  CallLimits limits;
  // gRPC gives a wall-clock time that it made from a duration, so the
  // difference to now is used.
  const auto left = context.deadline() - std::chrono::system_clock::now();
  limits.deadline =
      DeadlineIn(std::chrono::duration_cast<MonotonicClock::duration>(
          std::clamp<std::chrono::system_clock::duration>(
              left, std::chrono::seconds(0), std::chrono::hours(1))));
  limits.is_cancelled = [&context] { return context.IsCancelled(); };
  return limits;
}

}  // namespace

absl::Status CallLimits::Check() const {
  if (is_cancelled && is_cancelled()) {
    return absl::CancelledError("the caller has gone");
  }
  if (MonotonicClock::now() >= deadline) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::OkStatus();
}

class TrainerRpc::Impl final : public v1::TrainerService::Service {
 public:
  explicit Impl(TrainerCalls* calls) : calls_(calls) {}

  grpc::Status ProfileTraining(grpc::ServerContext* context,
                               const v1::ProfileTrainingRequest* request,
                               v1::ProfileTrainingResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(
          const TrainingProfile profile,
          calls_->ProfileTraining(spec, FromProto(request->hops())));
      *response = ToProto(profile);
      return absl::OkStatus();
    });
  }

  grpc::Status Evaluate(grpc::ServerContext* context,
                        const v1::EvaluateRequest* request,
                        v1::EvaluateResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      EvaluationQuery query;
      query.job_id = request->job_id();
      query.checkpoint = request->checkpoint();
      query.splits.assign(request->splits().begin(), request->splits().end());
      query.scratch = request->scratch();
      FGNN_ASSIGN_OR_RETURN(query.spec, ReadSpec(request->spec()));
      FGNN_ASSIGN_OR_RETURN(const EvaluationAnswer answer,
                            calls_->Evaluate(query, LimitsOf(*context)));
      for (const SplitScore& score : answer.splits) {
        *response->add_scores() = ToProto(score);
      }
      response->set_seconds(answer.seconds);
      return absl::OkStatus();
    });
  }

  grpc::Status SaveCheckpoint(grpc::ServerContext* context,
                              const v1::SaveCheckpointRequest* request,
                              v1::SaveCheckpointResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      const SaveQuery query = {
          request->job_id(),
          request->path(),
          request->version(),
          request->epoch(),
          request->run_state(),
          {request->folder_device(), request->folder_inode()}};
      FGNN_ASSIGN_OR_RETURN(const SaveAnswer answer,
                            calls_->SaveCheckpoint(query, LimitsOf(*context)));
      response->set_version(answer.version);
      response->set_bytes(answer.bytes);
      return absl::OkStatus();
    });
  }

  grpc::Status DescribeCheckpoint(
      grpc::ServerContext* context,
      const v1::DescribeCheckpointRequest* request,
      v1::DescribeCheckpointResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const CheckpointFacts facts,
                            calls_->DescribeCheckpoint(request->path()));
      response->set_version(facts.version);
      response->set_epoch(facts.epoch);
      response->set_seed(facts.seed);
      response->set_run_state(facts.run_state);
      return absl::OkStatus();
    });
  }

  grpc::Status LoadCheckpoint(grpc::ServerContext* context,
                              const v1::LoadCheckpointRequest* request,
                              v1::LoadCheckpointResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          *response->mutable_warning(),
          calls_->LoadCheckpoint({request->job_id(), request->path()},
                                 LimitsOf(*context)));
      return absl::OkStatus();
    });
  }

 private:
  TrainerCalls* const calls_;
};

TrainerRpc::TrainerRpc(TrainerCalls* calls)
    : impl_(std::make_unique<Impl>(calls)) {}

TrainerRpc::~TrainerRpc() = default;

grpc::Service* TrainerRpc::service() { return impl_.get(); }

}  // namespace fgnn
