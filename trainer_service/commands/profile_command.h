// "fgnn-trainer profile": measures what a job's training takes, without a
// service.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

// A function that answers the request on a device, with num_threads >= 1
// threads of the host.
using ThreadedProfiler = std::function<absl::StatusOr<TrainingProfile>(
    const Device& device, const JobSpec& spec, absl::Span<const HopSize> hops,
    int num_threads)>;

// Answers a ProfileTrainingCommand, which is JSON, on this device ("cpu:0-3",
// "cuda:0"). Returns the response as JSON. Pins the calling thread. Returns
// errors of AnswerProfileRequest().
absl::StatusOr<std::string> RunProfileCommand(const std::string& request,
                                              const std::string& device,
                                              const ThreadedProfiler& profile);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PROFILE_COMMAND_H_
