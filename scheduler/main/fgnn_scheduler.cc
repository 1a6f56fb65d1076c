#include <csignal>
#include <optional>

#include "scheduler/daemon/scheduler_daemon.h"
#include "scheduler/main/flags.h"
#include "shared/base/descriptor_limit.h"
#include "shared/base/exceptions.h"
#include "shared/base/signal_waiter.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::Status Run(const SchedulerFlags& flags, const SignalWaiter& stop) {
  FGNN_ASSIGN_OR_RETURN(const auto daemon,
                        SchedulerDaemon::Start(flags.options, &stop));
  FGNN_RETURN_IF_ERROR(SayReady(flags.ready_fd));
  return daemon->ServeUntil(stop);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::InitLog("fgnn-scheduler");
  fgnn::RaiseDescriptorLimit();
  // Before any thread starts, so that every thread inherits the blocked mask.
  const fgnn::SignalWaiter stop({SIGINT, SIGTERM});
  int exit_code = 0;
  const std::optional<fgnn::SchedulerFlags> flags =
      fgnn::ParseFlags(argc, argv, exit_code);
  if (!flags.has_value()) return exit_code;
  const absl::Status status =
      fgnn::CatchExceptions([&] { return fgnn::Run(*flags, stop); });
  if (!status.ok()) fgnn::LogError("{}", fgnn::MessageOf(status));
  return fgnn::ExitCode(status);
}
