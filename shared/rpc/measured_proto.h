// Converts what executors measured to messages of fgnn/v1/executor.proto and
// back.
#ifndef FGNN_SHARED_RPC_MEASURED_PROTO_H_
#define FGNN_SHARED_RPC_MEASURED_PROTO_H_

#include <vector>

#include "fgnn/v1/executor.pb.h"
#include "shared/measured/profiles.h"
#include "shared/measured/scores.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

using HopSizeMessages = google::protobuf::RepeatedPtrField<v1::HopSize>;

HopSizeMessages ToProto(const std::vector<HopSize>& hops);
v1::ProfileSamplingResponse ToProto(const SamplingProfile& profile);
v1::ProfileTrainingResponse ToProto(const TrainingProfile& profile);
v1::SplitScore ToProto(const SplitScore& score);

std::vector<HopSize> FromProto(const HopSizeMessages& messages);
SamplingProfile FromProto(const v1::ProfileSamplingResponse& message);
TrainingProfile FromProto(const v1::ProfileTrainingResponse& message);
SplitScore FromProto(const v1::SplitScore& message);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_MEASURED_PROTO_H_
