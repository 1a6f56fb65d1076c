#include "shared/rpc/executor_main.h"

#include <csignal>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/json_log.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Descriptors that an executor of one job opens.
constexpr uint64_t kDescriptors = 24;

}  // namespace

void AddExecutorFlags(const std::string& kind, Command app,
                      ExecutorFlags& flags) {
  app.AddOption(
      "--name", flags.daemon.name,
      absl::StrCat("Name of the daemon; default: ", kind,
                   ".N, where N is its first core, or ", kind, ".cudaN"));
  app.AddOption("--device", flags.device,
                "Device of the daemon, e.g. cpu:0-3 or cuda:0");
  app.AddOption("--state-dir", flags.daemon.state_dir,
                "State folder of the service");
  app.AddFlag("--log-json", flags.log_json, "Log a JSON object a line");
}

int RunExecutorMain(const std::string& kind, ExecutorFlags flags,
                    ExecutorServing serve) {
  ExecutorDaemonOptions& options = flags.daemon;
  absl::Status is_device;
  if (!flags.device.empty()) {
    absl::StatusOr<Device> device = ParseDevice(flags.device);
    is_device = device.status();
    if (device.ok()) options.device = *std::move(device);
  }
  NameByDevice(kind, options);
  InitLog(options.name.empty() ? absl::StrCat("fgnn-", kind) : options.name);
  if (flags.log_json) LogAsJson();
  if (!is_device.ok()) LogError("{}", MessageOf(is_device));
  if (!is_device.ok()) return ExitCode(is_device);
  RaiseDescriptorLimit();
  // Made before any thread starts, so that every thread inherits the signal
  // mask.
  const SignalWaiter stop({SIGINT, SIGTERM});
  const absl::Status status = CatchExceptions([&] {
    FGNN_RETURN_IF_ERROR(CheckDescriptorLimit(options.name, kDescriptors));
    return serve(options, &stop);
  });
  if (!status.ok()) LogError("{}", MessageOf(status));
  return DaemonExitCode(status);
}

}  // namespace fgnn
