#include "scheduler/jobs/submission_group.h"

#include <utility>

#include "shared/base/clock.h"

namespace fgnn {

// The other threads wait for the commit without the table's mutex. With it they
// would queue up and wake one after another.
absl::StatusOr<Job> SubmissionGroup::Submit(
    Submission mine,
    absl::FunctionRef<void(const std::vector<Submission*>&)> submit_all) {
  std::vector<Submission*> all;
  {
    MutexLock lock(&mutex_);
    waiting_.push_back(&mine);
    const uint64_t commit = num_begun_ + 1;
    // Waits until another thread has submitted `mine`, or no thread is
    // submitting. No deadline is needed: a commit ends by itself.
    submitted_.WaitUntil(
        &lock, Deadline::max(), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return num_done_ >= commit || num_done_ == num_begun_;
        });
    if (num_done_ < commit) {
      all.swap(waiting_);
      ++num_begun_;
    }
  }
  if (!all.empty()) {
    submit_all(all);
    const MutexLock lock(&mutex_);
    ++num_done_;
    submitted_.NotifyAll();
  }
  return *std::move(mine.job);
}

size_t SubmissionGroup::num_waiting() const {
  const MutexLock lock(&mutex_);
  return waiting_.size();
}

}  // namespace fgnn
