#include <malloc.h>

#include <csignal>
#include <optional>

#include "scheduler/daemon/member_daemon.h"
#include "scheduler/daemon/scheduler_daemon.h"
#include "scheduler/main/flags.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kLeastMappedBytes = 128 << 10;
constexpr int kMostHeaps = 2;

// Limits the heaps of the allocator. A call may bring some MiB, and any thread
// of gRPC may read it. Without limits the allocator keeps blocks of that size,
// in each of eight heaps per core. After five minutes of random calls
// (tests/fault/rpc_fuzz) these heaps held 77 MB, of which 72 MB were free.
void BoundHeaps() {
  ::mallopt(M_MMAP_THRESHOLD, kLeastMappedBytes);
  ::mallopt(M_ARENA_MAX, kMostHeaps);
}

absl::Status Run(const SchedulerFlags& flags, const SignalWaiter& stop) {
  if (flags.options.join.has_value()) {
    const auto member = MemberDaemon::Start(flags.options);
    FGNN_RETURN_IF_ERROR(SayStarted(flags.ready_fd, member.status()));
    return (*member)->ServeUntil(stop);
  }
  const auto daemon = SchedulerDaemon::Start(flags.options, &stop);
  FGNN_RETURN_IF_ERROR(SayStarted(flags.ready_fd, daemon.status()));
  return (*daemon)->ServeUntil(stop);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::BoundHeaps();
  fgnn::InitLog("fgnn-scheduler");
  fgnn::RaiseDescriptorLimit();
  // The signals are blocked before any thread starts, so that every thread
  // inherits the mask.
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
