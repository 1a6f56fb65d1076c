#include "trainer_service/daemon/work_turns.h"

#include <algorithm>
#include <chrono>

#include "shared/base/clock.h"

namespace fgnn {

std::optional<WorkTurns::Turn> WorkTurns::TakeForLoop(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!changed_.WaitUntil(&lock, deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            return !taken_ && waiting_commands_ == 0;
                          })) {
    return std::nullopt;
  }
  taken_ = true;
  return Turn(this);
}

absl::StatusOr<WorkTurns::Turn> WorkTurns::TakeForCommand(
    Deadline deadline, const std::function<absl::Status()>& check) {
  MutexLock lock(&mutex_);
  ++waiting_commands_;
  absl::Status status;
  while (status.ok() && taken_) {
    if (MonotonicClock::now() >= deadline) {
      status = absl::DeadlineExceededError(
          "the trainer was at work until the call's deadline");
    } else if (!changed_.WaitUntil(&lock, std::min(deadline, DeadlineIn(kTick)),
                                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                       mutex_) { return !taken_; })) {
      status = check();
    }
  }
  --waiting_commands_;
  if (status.ok()) taken_ = true;
  // The work loop may have waited only for this command.
  changed_.NotifyAll();
  if (!status.ok()) return status;
  return Turn(this);
}

void WorkTurns::End() {
  const MutexLock lock(&mutex_);
  taken_ = false;
  changed_.NotifyAll();
}

}  // namespace fgnn
