// The first error of several threads.
#ifndef FGNN_SHARED_BASE_THREADS_FIRST_ERROR_H_
#define FGNN_SHARED_BASE_THREADS_FIRST_ERROR_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class FirstError {
 public:
  void Note(const absl::Status& status) {
    if (status.ok()) return;
    const MutexLock lock(&mutex_);
    status_.Update(status);
    any_ = true;
  }
  // Whether a thread has noted an error. The other threads may stop then.
  bool any() const { return any_; }

  absl::Status status() const {
    const MutexLock lock(&mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> any_ = false;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_FIRST_ERROR_H_
