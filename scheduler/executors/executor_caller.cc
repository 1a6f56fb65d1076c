#include "scheduler/executors/executor_caller.h"

#include <chrono>
#include <utility>

#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Number of calls of one kind that may be lost to deaths before the job fails.
// The restart limit is usually reached earlier.
constexpr int kMaxLostCalls = 10;

}  // namespace

ExecutorCaller::ExecutorCaller(JobDaemons* daemons, ExecutorCalls* calls,
                               ExecutorsOfJob job, KeepGoing keep_going,
                               KeepGoing tick)
    : daemons_(daemons),
      calls_(calls),
      job_(std::move(job)),
      keep_going_(std::move(keep_going)),
      tick_(std::move(tick)) {}

absl::Status ExecutorCaller::MayGoOn() const {
  FGNN_RETURN_IF_ERROR(keep_going_());
  return daemons_->Failure();
}

Patience ExecutorCaller::WhileItMayGoOn() const {
  return {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }};
}

Patience ExecutorCaller::WhileTicking() const {
  return {.timeout = kLongCall, .keep_going = tick_};
}

absl::Status ExecutorCaller::Open(const DaemonAddress& daemon) {
  const std::pair key(daemon.name, daemon.pid);
  if (told_.contains(key)) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(calls_->Open(daemon.socket,
                                    {.job_id = job_.job_id, .spec = job_.spec},
                                    WhileItMayGoOn()));
  told_.insert(key);
  return absl::OkStatus();
}

absl::Status ExecutorCaller::OpenEach(
    const std::vector<DaemonAddress>& daemons) {
  for (const DaemonAddress& daemon : daemons) {
    const absl::Status opened = Open(daemon);
    if (opened.ok() || IsLost(opened)) continue;
    return Annotate(opened, daemon.name);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DaemonAddress>> ExecutorCaller::WaitForSome(
    ExecutorRole role, bool attached, std::optional<DeviceKind> kind) {
  while (true) {
    FGNN_RETURN_IF_ERROR(tick_());
    std::vector<DaemonAddress> found = daemons_->Find(role, attached);
    std::erase_if(found, [kind](const DaemonAddress& daemon) {
      return kind.has_value() && daemon.device.kind != *kind;
    });
    if (!found.empty()) return found;
    daemons_->Unregistered(DeadlineIn(kTick));
  }
}

absl::Status ExecutorCaller::AfterLoss(const DaemonAddress& daemon,
                                       const absl::Status& status, int lost,
                                       pid_t* unreachable) {
  FGNN_RETURN_IF_ERROR(MayGoOn());
  if (!IsLost(status) || lost >= kMaxLostCalls) {
    return Annotate(status, daemon.name);
  }
  LogWarning("{} was lost on the way: {}; trying again", daemon.name,
             MessageOf(status));
  told_.erase({daemon.name, daemon.pid});
  // Usually the daemon died. A living daemon that cannot be reached twice is
  // killed: its socket may have been removed.
  if (daemons_->WaitUntilGone(daemon, DeadlineIn(std::chrono::seconds(1)))) {
    return absl::OkStatus();
  }
  if (daemon.pid == *unreachable) daemons_->Kill(daemon, "cannot be reached");
  *unreachable = daemon.pid;
  return absl::OkStatus();
}

}  // namespace fgnn
