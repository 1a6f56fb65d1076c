#include "trainer_service/rpc/trainer_calls.h"

#include <grpcpp/server_context.h>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/rpc/executor_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

class TrainerService final : public v1::TrainerService::Service {
 public:
  explicit TrainerService(TrainerCalls* calls) : calls_(calls) {}

  grpc::Status ProfileTraining(grpc::ServerContext* context,
                               const v1::ProfileTrainingRequest* request,
                               v1::ProfileTrainingResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const TrainingProfile profile,
                            calls_->ProfileTraining(FromProto(*request)));
      *response = ToProto(profile);
      return absl::OkStatus();
    });
  }

  grpc::Status Evaluate(grpc::ServerContext* context,
                        const v1::EvaluateRequest* request,
                        v1::EvaluateResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          const Evaluation evaluation,
          calls_->Evaluate(FromProto(*request), LimitsOf(*context)));
      *response = ToProto(evaluation);
      return absl::OkStatus();
    });
  }

  grpc::Status SaveCheckpoint(
      grpc::ServerContext* context, const v1::SaveCheckpointRequest* request,
      v1::SaveCheckpointResponse* /*response*/) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const SaveCheckpointRequest read,
                            FromProto(*request));
      return calls_->SaveCheckpoint(read, LimitsOf(*context));
    });
  }

  grpc::Status DescribeCheckpoint(
      grpc::ServerContext* context,
      const v1::DescribeCheckpointRequest* request,
      v1::DescribeCheckpointResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const CheckpointProfile checkpoint,
                            calls_->DescribeCheckpoint(request->path()));
      *response = ToProto(checkpoint);
      return absl::OkStatus();
    });
  }

  grpc::Status LoadCheckpoint(grpc::ServerContext* context,
                              const v1::LoadCheckpointRequest* request,
                              v1::LoadCheckpointResponse* response) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(
          *response->mutable_warning(),
          calls_->LoadCheckpoint(request->job_id(), request->path(),
                                 LimitsOf(*context)));
      return absl::OkStatus();
    });
  }

 private:
  TrainerCalls* const calls_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeTrainerService(TrainerCalls* calls) {
  return std::make_shared<TrainerService>(calls);
}

}  // namespace fgnn
