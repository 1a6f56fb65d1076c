// fgnn-trainer: the daemon, or one command. This program chooses the back end
// that trains.
#include <malloc.h>

#include <filesystem>
#include <string>

#include "shared/command_line/command_line.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/rpc/executor_main.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/cuda/check_device.h"
#include "trainer_service/backend/cuda/cuda_backends.h"
#include "trainer_service/commands/trainer_commands.h"
#include "trainer_service/commands/version_text.h"
#include "trainer_service/daemon/exchange_daemon.h"
#include "trainer_service/daemon/trainer_daemon.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/features/cpu/open_feature_store.h"
#include "trainer_service/sync/cuda/nccl_exchanges.h"

namespace {

constexpr int kLeastMappedBytes = 128 << 10;
// Of an exchange: blocks of so many bytes are mapped, and free ones of so many
// bytes are given back.
constexpr int kExchangeMappedBytes = 4 << 20;
constexpr int kExchangeKeptBytes = 64 << 20;
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

absl::Status Serve(const fgnn::ExecutorDaemonOptions& options,
                   const std::filesystem::path& tls_dir,
                   const fgnn::SignalWaiter* stop) {
  const fgnn::Device& device = options.device;
  const bool is_gpu = device.kind == fgnn::DeviceKind::kCuda;
  if (is_gpu) {
    const absl::Status here = fgnn::CheckCudaDevice(device.index);
    // The next start would find no GPU either.
    if (!here.ok()) return absl::InvalidArgumentError(here.message());
  }
  const auto daemon = fgnn::TrainerDaemon::Start(
      options,
      {BackendsOn(device, options.state_dir), ExchangesOn(device),
       is_gpu ? fgnn::GpuBytesInUse : nullptr, tls_dir},
      stop);
  return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
}

// What the daemon is.
struct RoleFlags {
  std::string role = "trainer";
  fgnn::ExchangeOptions exchange;
};

void AddRoleFlags(fgnn::Command app, RoleFlags& flags) {
  app.AddOption("--role", flags.role,
                "trainer, or exchange: trades gradients with other hosts")
      .OneOf({"trainer", "exchange"})
      .ShowDefault();
  app.AddOption("--exchange", flags.exchange.address,
                "Where an exchange listens for those of other hosts")
      .Takes("HOST:PORT");
  app.AddOption(
         "--tls-dir", flags.exchange.tls_dir,
         "Folder with host.pem, host.key and ca.pem of this host, for an "
         "exchange, and for trainers that ask other hosts for features")
      .Takes("DIR");
}

// Runs the daemon of that role. Returns the program's exit code.
int RunDaemon(const fgnn::ExecutorFlags& flags, const RoleFlags& of_role) {
  if (of_role.role == "trainer") {
    return fgnn::RunExecutorMain(
        of_role.role, flags,
        [&of_role](const fgnn::ExecutorDaemonOptions& options,
                   const fgnn::SignalWaiter* stop) {
          return Serve(options, of_role.exchange.tls_dir, stop);
        });
  }
  // Each message of the exchange is a block of some 100 KiB. If the heap mapped
  // it, or gave it back, each page of each message would be a fault.
  ::mallopt(M_MMAP_THRESHOLD, kExchangeMappedBytes);
  ::mallopt(M_TRIM_THRESHOLD, kExchangeKeptBytes);
  return fgnn::RunExecutorMain(
      of_role.role, flags,
      [&of_role](const fgnn::ExecutorDaemonOptions& options,
                 const fgnn::SignalWaiter* stop) {
        const auto daemon =
            fgnn::ExchangeDaemon::Start(options, of_role.exchange, stop);
        return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
      });
}

}  // namespace

int main(int argc, char** argv) {
  // Sets a fixed threshold for blocks that the heap maps. Without it the heap
  // learns to keep blocks of some MiB. Then every thread that has evaluated
  // once keeps the arrays of that evaluation.
  ::mallopt(M_MMAP_THRESHOLD, kLeastMappedBytes);
  fgnn::ExecutorFlags flags;
  flags.daemon.version = kVersion;
  fgnn::CommandLine line("FGNN's trainer: a daemon, or one command",
                         "fgnn-trainer");
  line.SetVersion(fgnn::VersionText(flags.daemon.version));
  fgnn::AddExecutorFlags("trainer", line.root(), flags);
  RoleFlags of_role;
  of_role.exchange.open_store = fgnn::OpenFeatureStore;
  AddRoleFlags(line.root(), of_role);
  fgnn::TrainerCommands commands(line.root());
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (!line.root().Chosen().has_value()) return RunDaemon(flags, of_role);
  fgnn::InitLog("fgnn-trainer");
  const std::filesystem::path& state_dir = flags.daemon.state_dir;
  // Commands compute on cores of the host, unless a flag names a GPU.
  const fgnn::ThreadedProfiler profile =
      [&state_dir](const fgnn::Device& device, const fgnn::JobSpec& spec,
                   absl::Span<const fgnn::HopSize> hops, int num_threads) {
        return fgnn::ProfileTraining(spec, hops, num_threads,
                                     BackendsOn(device, state_dir));
      };
  return commands.Run(
      {fgnn::PluginFolder(state_dir), BackendsOn(fgnn::Device(), state_dir),
       profile, fgnn::CudaInferences(), fgnn::NameCublas, fgnn::NameNccl});
}
