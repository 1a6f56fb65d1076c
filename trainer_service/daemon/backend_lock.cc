#include "trainer_service/daemon/backend_lock.h"

#include <algorithm>
#include <chrono>

#include "shared/base/clock.h"

namespace fgnn {

std::optional<BackendLock::Held> BackendLock::LockForLoop(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!changed_.WaitUntil(&lock, deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            return !locked_ && waiting_commands_ == 0;
                          })) {
    return std::nullopt;
  }
  locked_ = true;
  return Held(this);
}

absl::StatusOr<BackendLock::Held> BackendLock::LockForCommand(
    Deadline deadline, const std::function<absl::Status()>& check) {
  MutexLock lock(&mutex_);
  ++waiting_commands_;
  absl::Status status;
  while (status.ok() && locked_) {
    if (MonotonicClock::now() >= deadline) {
      status = absl::DeadlineExceededError(
          "the trainer was at work until the call's deadline");
    } else if (!changed_.WaitUntil(&lock, std::min(deadline, DeadlineIn(kTick)),
                                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                       mutex_) { return !locked_; })) {
      status = check();
    }
  }
  --waiting_commands_;
  if (status.ok()) locked_ = true;
  // The work loop may have waited only for this command.
  changed_.NotifyAll();
  if (!status.ok()) return status;
  return Held(this);
}

bool BackendLock::is_wanted() const {
  const MutexLock lock(&mutex_);
  return waiting_commands_ > 0;
}

void BackendLock::Unlock() {
  const MutexLock lock(&mutex_);
  locked_ = false;
  changed_.NotifyAll();
}

}  // namespace fgnn
