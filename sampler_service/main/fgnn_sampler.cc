// fgnn-sampler: the daemon, or one command. This program chooses the samplers
// of its device.
#include <memory>

#include "absl/strings/str_cat.h"
#include "sampler_service/commands/sampler_commands.h"
#include "sampler_service/daemon/sampler_daemon.h"
#include "sampler_service/sampling/cpu/cpu_device_samplers.h"
#include "sampler_service/sampling/cuda/cuda_device_samplers.h"
#include "shared/build/build_facts.h"
#include "shared/command_line/command_line.h"
#include "shared/device/device.h"
#include "shared/rpc/executor_main.h"

namespace {

// Volatile, so that the text stands in the program's file and not in code. A
// fault test changes the text in the file.
const char* const volatile kVersion = FGNN_VERSION;

absl::StatusOr<std::unique_ptr<fgnn::DeviceSamplers>> OpenSamplers(
    const fgnn::Device& device) {
  if (device.kind == fgnn::DeviceKind::kCuda) {
    return fgnn::OpenCudaSamplers(device);
  }
  return fgnn::OpenCpuSamplers(device);
}

}  // namespace

int main(int argc, char** argv) {
  fgnn::ExecutorFlags flags;
  flags.daemon.version = kVersion;
  fgnn::CommandLine line("FGNN's sampler: a daemon, or one command",
                         "fgnn-sampler");
  line.SetVersion(absl::StrCat(flags.daemon.version, "\n", fgnn::BuildFacts()));
  fgnn::AddExecutorFlags("sampler", line.root(), flags);
  fgnn::SamplerCommands commands(line.root());
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (line.root().Chosen().has_value()) {
    return commands.Run(flags.daemon.state_dir,
                        {OpenSamplers, fgnn::DescribeGpus});
  }
  return fgnn::RunExecutorMain(
      "sampler", flags,
      [](const fgnn::ExecutorDaemonOptions& options,
         const fgnn::SignalWaiter* stop) {
        const auto daemon =
            fgnn::SamplerDaemon::Start(options, OpenSamplers, stop);
        return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
      });
}
