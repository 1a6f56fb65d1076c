// An event that happens once, and for which threads wait.
#ifndef FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_
#define FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_

#include "absl/base/thread_annotations.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Unlike absl::Notification, it waits by the monotonic clock, may be notified
// again, and ThreadSanitizer sees it. Thread-safe.
class Notification {
 public:
  void Notify() {
    const MutexLock lock(&mutex_);
    notified_ = true;
    changed_.NotifyAll();
  }
  bool HasBeenNotified() const {
    const MutexLock lock(&mutex_);
    return notified_;
  }
  // Returns false if no thread has called Notify() until the deadline.
  bool WaitUntil(Deadline deadline) const {
    MutexLock lock(&mutex_);
    return changed_.WaitUntil(
        &lock, deadline,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return notified_; });
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_NOTIFICATION_H_
