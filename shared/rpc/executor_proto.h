// Converts requests and answers of executors to messages of
// fgnn/v1/executor.proto and back. Errors of requests: those of ReadSpec(), and
// InvalidArgument, which names the field.
#ifndef FGNN_SHARED_RPC_EXECUTOR_PROTO_H_
#define FGNN_SHARED_RPC_EXECUTOR_PROTO_H_

#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/executors/executor_messages.h"
#include "shared/measured/profiles.h"
#include "shared/measured/scores.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

using HopSizeMessages = google::protobuf::RepeatedPtrField<v1::HopSize>;

HopSizeMessages ToProto(const std::vector<HopSize>& hops);
v1::Scores ToProto(const Scores& scores);
v1::SplitScore ToProto(const SplitScore& score);
std::vector<HopSize> FromProto(const HopSizeMessages& messages);
Scores FromProto(const v1::Scores& message);
SplitScore FromProto(const v1::SplitScore& message);

v1::OpenJobRequest ToProto(const OpenJobRequest& request);
v1::AttachJobRequest ToProto(const AttachJobRequest& request);
v1::ProfileSamplingRequest ToProto(const ProfileSamplingRequest& request);
v1::CountInputNodesRequest ToProto(const CountInputNodesRequest& request);
v1::RankVerticesRequest ToProto(const RankVerticesRequest& request);
v1::ProfileTrainingRequest ToProto(const ProfileTrainingRequest& request);
v1::EvaluateRequest ToProto(const EvaluateRequest& request);
v1::SaveCheckpointRequest ToProto(const SaveCheckpointRequest& request);

absl::StatusOr<OpenJobRequest> FromProto(const v1::OpenJobRequest& message);
absl::StatusOr<AttachJobRequest> FromProto(const v1::AttachJobRequest& message);
ProfileSamplingRequest FromProto(const v1::ProfileSamplingRequest& message);
absl::StatusOr<CountInputNodesRequest> FromProto(
    const v1::CountInputNodesRequest& message);
RankVerticesRequest FromProto(const v1::RankVerticesRequest& message);
ProfileTrainingRequest FromProto(const v1::ProfileTrainingRequest& message);
EvaluateRequest FromProto(const v1::EvaluateRequest& message);
absl::StatusOr<SaveCheckpointRequest> FromProto(
    const v1::SaveCheckpointRequest& message);

v1::ProfileSamplingResponse ToProto(const SamplingProfile& profile);
v1::ValidateDatasetResponse ToProto(const ValidatedDataset& dataset);
v1::RankVerticesResponse ToProto(const RankedVertices& ranked);
v1::ProfileTrainingResponse ToProto(const TrainingProfile& profile);
v1::EvaluateResponse ToProto(const Evaluation& evaluation);
v1::DescribeCheckpointResponse ToProto(const CheckpointProfile& checkpoint);

SamplingProfile FromProto(const v1::ProfileSamplingResponse& message);
ValidatedDataset FromProto(const v1::ValidateDatasetResponse& message);
RankedVertices FromProto(const v1::RankVerticesResponse& message);
TrainingProfile FromProto(const v1::ProfileTrainingResponse& message);
Evaluation FromProto(const v1::EvaluateResponse& message);
CheckpointProfile FromProto(const v1::DescribeCheckpointResponse& message);

// Returns an error, which names `what`, if the path is relative. An absolute
// path names the same file for the scheduler and a daemon, whatever folder the
// daemon runs in.
absl::Status CheckAbsolute(const char* what, const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_EXECUTOR_PROTO_H_
