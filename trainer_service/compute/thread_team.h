// The threads of a trainer.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_THREAD_TEAM_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Returns the number of tasks of `per_task` elements each that make up `count`.
// The last may be smaller.
inline int64_t NumTasks(int64_t count, int64_t per_task) {
  return (count + per_task - 1) / per_task;
}

// A fixed number of threads that share the tasks of one loop at a time; the
// caller is one of them. They sleep between loops, so that trainers and
// samplers on the same cores do not take time from each other.
//
// Loops are cut into tasks by the size of the work, never by the number of
// threads. Results therefore do not depend on the number of threads.
class ThreadTeam {
 public:
  // Called with a task in [0, num_tasks) and the worker, in [0, size()), that
  // runs it.
  using Task = absl::FunctionRef<void(int64_t task, int worker)>;

  // `num_threads` is at least 1 and includes the caller.
  explicit ThreadTeam(int num_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Returns the number of tasks begun so far, over all loops. It rises while
  // work goes on. Any thread.
  uint64_t tasks_begun() const {
    return tasks_begun_.load(std::memory_order_relaxed);
  }
  // Counts a task that the caller does outside of loops. Any thread.
  void CountTask() { tasks_begun_.fetch_add(1, std::memory_order_relaxed); }

  // Runs all tasks, taken in rising order; returns when the last has ended. One
  // caller at a time; tasks must not call it. ResourceExhausted or Internal: a
  // task threw. Tasks that were not begun by then are left out.
  absl::Status Run(int64_t num_tasks, Task task);

 private:
  void Work(int worker);
  void TakeTasks(Task task, int worker);

  Mutex mutex_;
  CondVar called_;  // Signals that loop_ or stop_ has changed.
  CondVar done_;    // Signals that working_ is 0.
  // Rises with every Run().
  uint64_t loop_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  // Number of workers in the loop, without the caller.
  int working_ ABSL_GUARDED_BY(mutex_) = 0;
  // Task of the loop that threads may still join.
  const Task* task_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  std::atomic<int64_t> next_task_ = 0;
  std::atomic<int64_t> num_tasks_ = 0;
  std::atomic<uint64_t> tasks_begun_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_THREAD_TEAM_H_
