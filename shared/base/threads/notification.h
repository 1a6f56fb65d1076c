// A thing that happens once, and threads that wait for it.
#ifndef FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_
#define FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_

#include <condition_variable>
#include <mutex>

#include "shared/base/clock.h"

namespace fgnn {

// As absl::Notification, but waits by the monotonic clock, may be notified
// again, and is seen by ThreadSanitizer. Thread-safe.
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
  // False if it has not happened at the deadline.
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
