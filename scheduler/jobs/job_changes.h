// Counts the changes of all jobs, and wakes the threads that wait for one.
#ifndef FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_
#define FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_

#include <cstdint>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex. The waits release it
// meanwhile.
class JobChanges {
 public:
  // Counts a change that has just happened, and returns its number.
  uint64_t Next() { return ++count_; }
  void Notify() {
    ++num_notified_;
    changed_.NotifyAll();
  }

  // Waits for the next Notify(), at most until the deadline.
  void Wait(MutexLock* lock, Deadline deadline) {
    const uint64_t seen = num_notified_;
    changed_.WaitUntil(lock, deadline, [&] { return num_notified_ != seen; });
  }
  // Waits until `is_so` returns true. Returns false if it still returns false
  // at the deadline.
  template <typename Predicate>
  bool WaitUntil(MutexLock* lock, Deadline deadline, Predicate is_so) {
    return changed_.WaitUntil(lock, deadline, std::move(is_so));
  }

 private:
  uint64_t count_ = 1;
  uint64_t num_notified_ = 0;  // Number of calls of Notify().
  CondVar changed_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_
