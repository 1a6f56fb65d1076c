#include "trainer_service/compute/thread_team.h"

#include <pthread.h>

#include <chrono>
#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"

namespace fgnn {
namespace {

// Longest wait. Wake-ups should never be lost; the limit makes such an error
// slow instead of a hang.
constexpr std::chrono::seconds kLongestWait{1};

}  // namespace

ThreadTeam::ThreadTeam(int num_threads) {
  for (int worker = 1; worker < num_threads; ++worker) {
    threads_.emplace_back([this, worker] { Work(worker); });
    pthread_setname_np(threads_.back().native_handle(),
                       absl::StrCat("fgnn-team-", worker).c_str());
  }
}

ThreadTeam::~ThreadTeam() {
  {
    const MutexLock lock(&mutex_);
    stop_ = true;
  }
  called_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::TakeTasks(Task task, int worker) {
  try {
    for (;;) {
      const int64_t mine = next_task_.fetch_add(1, std::memory_order_relaxed);
      if (mine >= num_tasks_.load(std::memory_order_relaxed)) return;
      tasks_begun_.fetch_add(1, std::memory_order_relaxed);
      task(mine, worker);
    }
  } catch (const std::bad_alloc&) {
    const MutexLock lock(&mutex_);
    failure_.Update(absl::ResourceExhaustedError(
        "out of memory while computing; smaller batches or fewer threads need "
        "less"));
  } catch (const std::exception& error) {
    const MutexLock lock(&mutex_);
    failure_.Update(absl::InternalError(
        absl::StrCat("a computation failed: ", error.what())));
  }
  num_tasks_.store(0, std::memory_order_relaxed);
}

void ThreadTeam::Work(int worker) {
  uint64_t seen = 0;
  for (;;) {
    const Task* task = nullptr;
    {
      MutexLock lock(&mutex_);
      if (!called_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                             [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return stop_ || loop_ != seen;
                             })) {
        continue;
      }
      if (stop_) return;
      seen = loop_;
      task = task_;
      // The loop had ended before this thread woke up.
      if (task == nullptr) continue;
      ++working_;
    }
    TakeTasks(*task, worker);
    const MutexLock lock(&mutex_);
    if (--working_ == 0) done_.NotifyAll();
  }
}

absl::Status ThreadTeam::Run(int64_t num_tasks, Task task) {
  {
    const MutexLock lock(&mutex_);
    failure_ = absl::OkStatus();
    next_task_.store(0, std::memory_order_relaxed);
    num_tasks_.store(num_tasks, std::memory_order_relaxed);
    // One task needs no help.
    if (num_tasks > 1 && !threads_.empty()) {
      task_ = &task;
      ++loop_;
      called_.NotifyAll();
    }
  }
  TakeTasks(task, /*worker=*/0);
  MutexLock lock(&mutex_);
  // No task is left. Threads that have not woken up yet, as others use their
  // core, are not waited for.
  task_ = nullptr;
  while (!done_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            return working_ == 0;
                          })) {
  }
  return failure_;
}

}  // namespace fgnn
