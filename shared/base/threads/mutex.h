// A mutex that clang's -Wthread-safety checks. A field may name the mutex with
// ABSL_GUARDED_BY. The build fails where code uses that field without the
// mutex.
#ifndef FGNN_SHARED_BASE_THREADS_MUTEX_H_
#define FGNN_SHARED_BASE_THREADS_MUTEX_H_

#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "shared/base/clock.h"

namespace fgnn {

// A std::mutex, which MutexLock locks.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex, which is borrowed, until destroyed.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex->mutex_) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// Thread-safe.
class CondVar {
 public:
  void NotifyAll() { changed_.notify_all(); }

  // Waits until `is_so` returns true or the deadline passes. Releases the mutex
  // while it waits, but holds the mutex during each call of `is_so`. Returns
  // the last result of `is_so`: false at the deadline.
  template <typename Condition>
  bool WaitUntil(MutexLock* lock, Deadline deadline, Condition is_so) {
    return changed_.wait_until(lock->lock_, deadline, std::move(is_so));
  }

 private:
  std::condition_variable changed_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_MUTEX_H_
