// Tells whether each of several loops still makes progress.
#ifndef FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_
#define FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Makes one counter of several counters. It rises only while all of them rise.
// The smallest counter would not be enough: a counter far above the others may
// stand still, unnoticed until the others have reached it. Thread-safe.
class LoopRounds {
 public:
  // Returns the number of rounds so far. `progress`: the counter of each loop,
  // always in the same order. A round ends once every counter has changed since
  // the round before. One call ends at most one round.
  uint64_t Look(const std::vector<uint64_t>& progress) {
    const MutexLock lock(&mutex_);
    seen_.resize(progress.size());
    for (size_t i = 0; i < progress.size(); ++i) {
      if (progress[i] == seen_[i]) return rounds_;
    }
    seen_ = progress;
    return ++rounds_;
  }

 private:
  Mutex mutex_;
  // Counters at the end of the last round.
  std::vector<uint64_t> seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_
