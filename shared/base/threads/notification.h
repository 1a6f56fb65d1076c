// An event that happens once, and for which threads wait.
#ifndef FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_
#define FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_

#include <condition_variable>
#include <mutex>

#include "shared/base/clock.h"

namespace fgnn {

// Unlike absl::Notification, it waits by the monotonic clock, may be notified
// again, and ThreadSanitizer sees it. Thread-safe.
class Notification {
 public:
  void Notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  bool HasBeenNotified() const {
    const std::lock_guard lock(mutex_);
    return notified_;
  }
  // Returns false if no thread has called Notify() until the deadline.
  bool WaitUntil(Deadline deadline) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return notified_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool notified_ = false;  // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_
