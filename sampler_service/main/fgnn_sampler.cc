#include <CLI/CLI.hpp>
#include <csignal>

#include "sampler_service/daemon/sampler_daemon.h"
#include "shared/base/descriptor_limit.h"
#include "shared/base/exceptions.h"
#include "shared/base/signal_waiter.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

int main(int argc, char** argv) {
  fgnn::ExecutorDaemonOptions options;
  options.version = FGNN_VERSION;
  CLI::App app("FGNN's sampler daemon", "fgnn-sampler");
  app.set_version_flag("--version", FGNN_VERSION);
  app.add_option("--name", options.name, "Its name, e.g. sampler.0")
      ->required();
  app.add_option("--device", options.device, "Its cores, e.g. cpu:0-3")
      ->required();
  app.add_option("--state-dir", options.state_dir, "The service's folder")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  fgnn::InitLog(options.name);
  fgnn::RaiseDescriptorLimit();
  // Before any thread starts, so that every thread inherits the mask.
  const fgnn::SignalWaiter stop({SIGINT, SIGTERM});
  const absl::Status status = fgnn::CatchExceptions([&] {
    const auto daemon = fgnn::SamplerDaemon::Start(options, &stop);
    return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
  });
  if (!status.ok()) fgnn::LogError("{}", fgnn::MessageOf(status));
  return fgnn::ExitCode(status);
}
