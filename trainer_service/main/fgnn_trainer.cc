// fgnn-trainer: the daemon, or one command. This program chooses the back end
// that trains.
#include <malloc.h>

#include <csignal>
#include <filesystem>

#include "shared/base/files/descriptor_limit.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/command_line/command_line.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/telemetry/json_log.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/cuda/check_device.h"
#include "trainer_service/backend/cuda/cuda_backends.h"
#include "trainer_service/commands/trainer_commands.h"
#include "trainer_service/commands/version_text.h"
#include "trainer_service/daemon/trainer_daemon.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/sync/cuda/nccl_exchanges.h"

namespace {

constexpr int kLeastMappedBytes = 128 << 10;
// Descriptors that a trainer of one job opens.
constexpr uint64_t kDescriptors = 24;
// Exit code of a device that is not there.
constexpr int kWrongUse = 2;
// Volatile, so that the text stands in the program's file and not in code. A
// fault test changes the text in the file.
const char* const volatile kVersion = FGNN_VERSION;

// Returns the function that opens back ends on a device.
fgnn::BackendFactory BackendsOn(const fgnn::Device& device,
                                const std::filesystem::path& state_dir) {
  fgnn::BackendFactory open;
  if (device.kind == fgnn::DeviceKind::kCuda) {
    open = fgnn::CudaBackends(device.index);
  } else {
    open = [plugins = fgnn::PluginFolder(state_dir)](const fgnn::JobSpec& spec,
                                                     int num_threads) {
      return fgnn::CpuBackend::OpenForJob(spec, num_threads, plugins);
    };
  }
  return [open, state_dir](const fgnn::JobSpec& spec, int num_threads) {
    auto backend = open(spec, num_threads);
    if (backend.ok()) (*backend)->FindDerivedIn(state_dir);
    return backend;
  };
}

// Returns the function that makes exchanges of gradients for that device.
fgnn::ExchangeFactory ExchangesOn(const fgnn::Device& device) {
  if (device.kind == fgnn::DeviceKind::kCuda) {
    return fgnn::NcclExchanges(device.index);
  }
  return nullptr;
}

int RunDaemon(fgnn::ExecutorDaemonOptions options, bool log_json) {
  const absl::Status named = fgnn::NameByDevice("trainer", options);
  fgnn::InitLog(options.name.empty() ? "fgnn-trainer" : options.name);
  if (log_json) fgnn::LogAsJson();
  if (!named.ok()) fgnn::LogError("{}", fgnn::MessageOf(named));
  if (!named.ok()) return fgnn::ExitCode(named);
  // Start() returns the error of a name that is wrong.
  const fgnn::Device device =
      fgnn::ParseDeviceName(options.device).value_or(fgnn::Device());
  if (device.kind == fgnn::DeviceKind::kCuda) {
    const absl::Status here = fgnn::CheckCudaDevice(device.index);
    if (!here.ok()) fgnn::LogError("{}", fgnn::MessageOf(here));
    if (!here.ok()) return kWrongUse;
  }
  fgnn::RaiseDescriptorLimit();
  // Made before any thread starts, so that every thread inherits the signal
  // mask.
  const fgnn::SignalWaiter stop({SIGINT, SIGTERM});
  const absl::Status status = fgnn::CatchExceptions([&] {
    FGNN_RETURN_IF_ERROR(
        fgnn::CheckDescriptorLimit(options.name, kDescriptors));
    const auto daemon = fgnn::TrainerDaemon::Start(
        options,
        {BackendsOn(device, options.state_dir), ExchangesOn(device),
         device.kind == fgnn::DeviceKind::kCuda ? fgnn::GpuBytesInUse
                                                : nullptr},
        &stop);
    return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
  });
  if (status.ok()) return 0;
  fgnn::LogError("{}", fgnn::MessageOf(status));
  return fgnn::DaemonExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  // Sets a fixed threshold for blocks that the heap maps. Without it the heap
  // learns to keep blocks of some MiB. Then every thread that has evaluated
  // once keeps the arrays of that evaluation.
  ::mallopt(M_MMAP_THRESHOLD, kLeastMappedBytes);
  fgnn::ExecutorDaemonOptions options;
  options.version = kVersion;
  fgnn::CommandLine line("FGNN's trainer: a daemon, or one command",
                         "fgnn-trainer");
  line.SetVersion(fgnn::VersionText(options.version));
  const fgnn::Command app = line.root();
  app.AddOption("--name", options.name,
                "Its name; default: trainer.N, where N is its first core");
  app.AddOption("--device", options.device, "Its cores, e.g. cpu:0-3");
  app.AddOption("--state-dir", options.state_dir, "The service's folder");
  bool log_json = false;
  app.AddFlag("--log-json", log_json, "Log a JSON object a line");
  fgnn::TrainerCommands commands(app);
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const std::filesystem::path plugins = fgnn::PluginFolder(options.state_dir);
  if (!app.Chosen().has_value()) return RunDaemon(options, log_json);
  fgnn::InitLog("fgnn-trainer");
  // Commands compute on cores of the host, unless a flag names a GPU.
  const fgnn::BackendFactory open =
      BackendsOn(fgnn::Device(), options.state_dir);
  const fgnn::ThreadedProfiler profile =
      [&options](const fgnn::Device& device, const fgnn::JobSpec& spec,
                 absl::Span<const fgnn::HopSize> hops, int num_threads) {
        return fgnn::ProfileTraining(spec, hops, num_threads,
                                     BackendsOn(device, options.state_dir));
      };
  return commands.Run({plugins, open, profile, fgnn::CudaInferences(),
                       fgnn::NameCublas, fgnn::NameNccl});
}
