// Counts the changes of all jobs, and wakes the threads that wait for one.
#ifndef FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_
#define FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex. The waits release it
// meanwhile.
class JobChanges {
 public:
  // Counts a change that has just happened, and returns its number.
  uint64_t Next() { return ++count_; }
  void Notify() { changed_.notify_all(); }

  // Waits for the next Notify(), at most until the deadline.
  void Wait(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    changed_.wait_until(lock, deadline);
  }
  // Waits until `is_so` returns true. Returns false if it still returns false
  // at the deadline.
  template <typename Predicate>
  bool WaitUntil(std::unique_lock<std::mutex>& lock, Deadline deadline,
                 Predicate is_so) {
    return changed_.wait_until(lock, deadline, is_so);
  }

 private:
  uint64_t count_ = 1;
  std::condition_variable changed_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_CHANGES_H_
