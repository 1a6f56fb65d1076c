// Answers ProfileTraining without a service, for a program that is asked on its
// command line.
#ifndef FGNN_TRAINER_SERVICE_RPC_PROFILE_JSON_H_
#define FGNN_TRAINER_SERVICE_RPC_PROFILE_JSON_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

using TrainingProfiler = absl::FunctionRef<absl::StatusOr<TrainingProfile>(
    const JobSpec& spec, absl::Span<const HopSize> hops)>;

// `request` is a v1.ProfileTrainingCommand as protobuf's JSON. Returns a
// v1.ProfileTrainingResponse, in one line. InvalidArgument: it is no such
// request. Other errors: those of the spec and of `profile`.
absl::StatusOr<std::string> AnswerProfileRequest(const std::string& request,
                                                 TrainingProfiler profile);

// Returns the effective spec of such a request.
absl::StatusOr<JobSpec> SpecOfProfileRequest(const std::string& request);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_PROFILE_JSON_H_
