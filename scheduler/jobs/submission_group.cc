#include "scheduler/jobs/submission_group.h"

#include <utility>

namespace fgnn {

// The other threads wait for the commit without the table's mutex. With it they
// would queue up and wake one after another.
absl::StatusOr<Job> SubmissionGroup::Submit(
    Submission mine,
    absl::FunctionRef<void(const std::vector<Submission*>&)> submit_all) {
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.push_back(&mine);
  // Waits until another thread has submitted `mine`, or no thread is
  // submitting. No deadline is needed: a commit ends by itself.
  submitted_.wait(lock, [&] { return mine.is_done || !is_submitting_; });
  if (!mine.is_done) {
    std::vector<Submission*> all;
    all.swap(waiting_);
    is_submitting_ = true;
    lock.unlock();
    submit_all(all);
    lock.lock();
    is_submitting_ = false;
    for (Submission* const one : all) one->is_done = true;
    submitted_.notify_all();
  }
  return *std::move(mine.job);
}

size_t SubmissionGroup::num_waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size();
}

}  // namespace fgnn
