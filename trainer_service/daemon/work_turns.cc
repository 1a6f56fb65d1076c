#include "trainer_service/daemon/work_turns.h"

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kLongestWait{100};

absl::Duration Until(Deadline deadline) {
  return absl::FromChrono(std::max<MonotonicClock::duration>(
      deadline - MonotonicClock::now(), MonotonicClock::duration::zero()));
}

}  // namespace

std::optional<WorkTurns::Turn> WorkTurns::TakeForLoop(Deadline deadline) {
  absl::MutexLock lock(&mutex_);
  const auto free = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !taken_ && waiting_commands_ == 0;
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&free), Until(deadline))) {
    return std::nullopt;
  }
  taken_ = true;
  return Turn(this);
}

absl::StatusOr<WorkTurns::Turn> WorkTurns::TakeForCommand(
    Deadline deadline, const std::function<absl::Status()>& check) {
  absl::MutexLock lock(&mutex_);
  const auto free = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !taken_; };
  ++waiting_commands_;
  absl::Status status;
  while (status.ok() && taken_) {
    if (MonotonicClock::now() >= deadline) {
      status = absl::DeadlineExceededError(
          "the trainer was at work until the call's deadline");
    } else {
      mutex_.AwaitWithTimeout(
          absl::Condition(&free),
          Until(std::min(deadline, DeadlineIn(kLongestWait))));
      if (taken_) status = check();
    }
  }
  --waiting_commands_;
  if (!status.ok()) return status;
  taken_ = true;
  return Turn(this);
}

void WorkTurns::End() {
  absl::MutexLock lock(&mutex_);
  taken_ = false;
}

}  // namespace fgnn
