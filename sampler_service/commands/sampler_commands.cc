#include "sampler_service/commands/sampler_commands.h"

#include <cstdint>
#include <iostream>
#include <memory>

#include "sampler_service/job/job_profile.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/rpc/profile_json.h"
#include "shared/base/error_json.h"
#include "shared/base/standard_output.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Prints what `fgnn doctor` shows. Returns the exit code.
int PrintGpus(const absl::StatusOr<std::string>& gpus) {
  absl::Status status = gpus.status();
  if (gpus.ok()) {
    std::cout << *gpus << "\n";
    status = FlushStandardOutput();
  }
  if (status.ok()) return 0;
  std::cerr << "fgnn: " << MessageOf(InOneLine(status)) << "\n";
  return ExitCode(status);
}

}  // namespace

SamplerCommands::SamplerCommands(Command app)
    : gpus_(app.AddSubcommand("gpus", "Name the GPUs of this machine")),
      profile_(app.AddSubcommand("profile", "Print a job's needs as JSON")) {
  profile_.AddOption("--request", request_, "ProfileSamplingCommand as JSON")
      .Required();
  profile_.AddOption("--device", device_, "Cores, or a GPU").Required();
}

// Measures a job's sampling on a device: what `fgnn plan` asks for.
absl::StatusOr<std::string> SamplerCommands::Profile(
    const std::filesystem::path& state_dir, const DeviceOpener& open) const {
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseDevice(device_));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceSamplers> samplers,
                        open(device));
  return AnswerSamplingProfile(
      request_,
      [&](const JobSpec& spec,
          uint32_t num_batches) -> absl::StatusOr<SamplingProfile> {
        FGNN_ASSIGN_OR_RETURN(
            const JobSampling job,
            OpenJobSampling(spec, {.num_threads = static_cast<uint32_t>(
                                       device.cores.size()),
                                   .plugins = PluginFolder(state_dir),
                                   .state_dir = state_dir,
                                   .factory = samplers->ForJob()}));
        return ProfileJob(spec, job, *samplers, num_batches, nullptr);
      });
}

int SamplerCommands::Run(const std::filesystem::path& state_dir,
                         const SamplerTools& tools) {
  if (gpus_.IsChosen()) return PrintGpus(tools.describe_gpus());
  InitLog("fgnn-sampler");
  absl::StatusOr<std::string> answer;
  const absl::Status status = CatchExceptions([&] {
    answer = Profile(state_dir, tools.open);
    return answer.status();
  });
  const int code = ExitCode(status);
  std::cout << (status.ok() ? *answer : ErrorJson(status, code)) << "\n";
  const absl::Status written = FlushStandardOutput();
  return written.ok() ? code : ExitCode(written);
}

}  // namespace fgnn
