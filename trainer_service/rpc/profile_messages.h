// Converts messages of ProfileTraining to C++ types. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_RPC_PROFILE_MESSAGES_H_
#define FGNN_TRAINER_SERVICE_RPC_PROFILE_MESSAGES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

// Fills in and checks the spec, as it comes from another process.
absl::StatusOr<JobSpec> ReadSpec(const v1::JobSpec& spec);

std::vector<HopSize> HopsOf(const v1::ProfileTrainingRequest& request);
v1::ProfileTrainingResponse ToProto(const TrainingNeeds& needs);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_PROFILE_MESSAGES_H_
