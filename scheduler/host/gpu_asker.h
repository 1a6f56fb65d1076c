// Knows which GPUs this host has, and asks again only where that may help.
#ifndef FGNN_SCHEDULER_HOST_GPU_ASKER_H_
#define FGNN_SCHEDULER_HOST_GPU_ASKER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/device/gpu_count.h"

namespace fgnn {

// Thread-safe.
class GpuAsker {
 public:
  // Time for which an answer counts that a GPU is not there.
  static constexpr std::chrono::seconds kAnswerCounts{10};

  // `count` is called on threads of Check(), one call at a time, without a lock
  // of this class. `clock` tells the time.
  explicit GpuAsker(GpuCounter count,
                    std::function<Deadline()> clock = MonotonicClock::now)
      : count_(std::move(count)), clock_(std::move(clock)) {}

  // See CheckGpusAreHere(). Returns at once if all named GPUs are known to be
  // there. Counts otherwise, unless the last answer still counts. Calls that
  // need an answer at the same time wait for one count.
  absl::Status Check(const std::vector<Device>& devices);

 private:
  struct Answer {
    absl::StatusOr<size_t> count;
    Deadline counts_until;
  };
  size_t Known();
  absl::StatusOr<size_t> Ask();

  const GpuCounter count_;
  const std::function<Deadline()> clock_;
  Mutex mutex_;  // Never held while count_ runs.
  CondVar answered_;
  size_t known_ ABSL_GUARDED_BY(mutex_) = 0;  // The last number of GPUs.
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  // The last answer; nullopt: there is none yet.
  std::optional<Answer> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_GPU_ASKER_H_
