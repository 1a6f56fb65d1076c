#include "scheduler/host/daemon_stopper.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kDrainTime{5};
constexpr std::chrono::seconds kTermTime{3};
// A disk may keep a killed process from ending for a while.
constexpr std::chrono::seconds kKillTime{10};

}  // namespace

void DaemonStopper::Stop(const std::vector<DaemonAddress>& daemons) {
  if (daemons.empty()) return;
  const Deadline drained = DeadlineIn(kDrainTime);
  for (const DaemonAddress& daemon : daemons) {
    absl::Status status = absl::UnavailableError("it has not registered");
    if (!daemon.socket.empty()) {
      status = calls_->Stop(
          daemon.socket,
          {.timeout = std::chrono::milliseconds(2'000), .keep_going = nullptr});
    }
    if (!status.ok()) SignalAll({daemon}, SIGTERM, "cannot be asked to stop");
  }
  if (!WaitUntilAllGone(daemons, drained)) {
    SignalAll(daemons, SIGTERM, "did not stop when asked");
    if (!WaitUntilAllGone(daemons, DeadlineIn(kTermTime))) {
      SignalAll(daemons, SIGKILL, "did not end on SIGTERM");
      if (!WaitUntilAllGone(daemons, DeadlineIn(kKillTime))) {
        LogError("daemons are left that the kernel does not end");
      }
    }
  }
  const MutexLock lock(&state_->mutex);
  state_->table.Forget(daemons);
}

void DaemonStopper::SignalAll(const std::vector<DaemonAddress>& daemons,
                              int signal, const char* why) {
  const MutexLock lock(&state_->mutex);
  for (const DaemonAddress& address : daemons) {
    const Daemon* const daemon = state_->table.Find(address);
    if (daemon == nullptr) continue;
    const LogJob about(daemon->job());
    LogWarning("{} (pid {}) {}: signal {}", address.name, address.pid, why,
               signal);
    if (const absl::Status sent = daemon->process->Signal(signal); !sent.ok()) {
      LogError("{}", MessageOf(sent));
    }
  }
}

bool DaemonStopper::WaitUntilAllGone(const std::vector<DaemonAddress>& daemons,
                                     Deadline deadline) const {
  return std::all_of(daemons.begin(), daemons.end(),
                     [&](const DaemonAddress& daemon) {
                       return WaitUntilGone(daemon, deadline);
                     });
}

bool DaemonStopper::WaitUntilGone(const DaemonAddress& daemon,
                                  Deadline deadline) const {
  MutexLock lock(&state_->mutex);
  return state_->changed.WaitUntil(
      &lock, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
        return state_->table.Find(daemon) == nullptr;
      });
}

void DaemonStopper::Kill(const DaemonAddress& daemon, const std::string& why) {
  const MutexLock lock(&state_->mutex);
  Daemon* const found = state_->table.Find(daemon);
  if (found == nullptr) return;
  if (const absl::Status sent = state_->Kill(*found, why); !sent.ok()) {
    LogError("{}", MessageOf(sent));
  }
}

}  // namespace fgnn
