// The commands of fgnn-sampler and their flags, for a process that is not the
// daemon.
#ifndef FGNN_SAMPLER_SERVICE_COMMANDS_SAMPLER_COMMANDS_H_
#define FGNN_SAMPLER_SERVICE_COMMANDS_SAMPLER_COMMANDS_H_

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/device_samplers.h"
#include "shared/command_line/command_line.h"

namespace fgnn {

// What the program passes to its commands.
struct SamplerTools {
  DeviceOpener open;
  // Returns the names of this machine's GPUs, as `fgnn doctor` shows them.
  std::function<absl::StatusOr<std::string>()> describe_gpus;
};

// `fgnn plan` and `fgnn doctor` start this program.
class SamplerCommands {
 public:
  // Adds gpus and profile to the commands. This object outlives `app`.
  explicit SamplerCommands(Command app);
  SamplerCommands(const SamplerCommands&) = delete;
  SamplerCommands& operator=(const SamplerCommands&) = delete;

  // Runs the command that the user named, which is one of these, and prints its
  // result. Returns the exit code.
  int Run(const std::filesystem::path& state_dir, const SamplerTools& tools);

 private:
  absl::StatusOr<std::string> Profile(const std::filesystem::path& state_dir,
                                      const DeviceOpener& open) const;

  std::string request_;
  std::string device_;
  const Command gpus_;
  const Command profile_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_COMMANDS_SAMPLER_COMMANDS_H_
