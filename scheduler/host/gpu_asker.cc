#include "scheduler/host/gpu_asker.h"

#include <chrono>

#include "shared/base/threads/exceptions.h"

namespace fgnn {
namespace {

// Longest wait for the count of another call. The count ends before.
constexpr std::chrono::seconds kLongestWait{60};

}  // namespace

absl::Status GpuAsker::Check(const std::vector<Device>& devices) {
  const absl::Status known = CheckGpusAreHere(
      devices, [this] { return absl::StatusOr<size_t>(Known()); });
  if (known.ok()) return known;
  return CheckGpusAreHere(devices, [this] { return Ask(); });
}

size_t GpuAsker::Known() {
  const MutexLock lock(&mutex_);
  return known_;
}

absl::StatusOr<size_t> GpuAsker::Ask() {
  {
    MutexLock lock(&mutex_);
    if (!answered_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                             [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return !asking_;
                             })) {
      return absl::DeadlineExceededError("the GPUs are still being counted");
    }
    if (last_.has_value() && clock_() < last_->counts_until) {
      return last_->count;
    }
    asking_ = true;
  }
  absl::StatusOr<size_t> count;
  const absl::Status counted = CatchExceptions([&] {
    count = count_();
    return count.status();
  });
  if (!counted.ok()) count = counted;
  const MutexLock lock(&mutex_);
  if (count.ok()) known_ = *count;
  last_ = Answer{.count = count, .counts_until = clock_() + kAnswerCounts};
  asking_ = false;
  answered_.NotifyAll();
  return count;
}

}  // namespace fgnn
