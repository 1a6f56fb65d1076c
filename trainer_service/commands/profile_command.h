// "fgnn-trainer profile": what a job's training takes, without a service.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

// What answers the request, with num_threads >= 1.
using ThreadedProfiler = std::function<absl::StatusOr<TrainingNeeds>(
    const JobSpec& spec, absl::Span<const HopSize> hops, int num_threads)>;

// A ProfileTrainingRequest as JSON, answered on this device ("cpu:0-3") with
// the response as JSON. Pins the calling thread. Errors of
// AnswerProfileRequest().
absl::StatusOr<std::string> RunProfileCommand(const std::string& request,
                                              const std::string& device,
                                              const ThreadedProfiler& profile);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_
