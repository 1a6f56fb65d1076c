#include "trainer_service/commands/profile_command.h"

#include <cstdint>

#include "shared/base/status.h"
#include "trainer_service/rpc/profile_json.h"

namespace fgnn {

absl::StatusOr<std::string> RunProfileCommand(const std::string& request,
                                              const std::string& device_name,
                                              const ThreadedProfiler& profile) {
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseDevice(device_name));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  return AnswerProfileRequest(request, [&](const JobSpec& spec,
                                           absl::Span<const HopSize> hops) {
    const uint32_t num_threads =
        spec.training.threads > 0 ? spec.training.threads
                                  : static_cast<uint32_t>(device.cores.size());
    return profile(device, spec, hops, static_cast<int>(num_threads));
  });
}

}  // namespace fgnn
