// Whether each of several loops turns.
#ifndef FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_
#define FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace fgnn {

// Makes one counter of several: it rises only while all of them do. Their
// smallest value would not do: one that stands still far above the others would
// go unnoticed until those have reached it. Thread-safe.
class LoopRounds {
 public:
  // `turns` has the counter of each loop, always in the same order. Returns the
  // rounds so far. A round is over once every counter has changed since the
  // round before; one look ends one round at most.
  uint64_t Look(const std::vector<uint64_t>& turns) {
    const std::lock_guard<std::mutex> lock(mutex_);
    seen_.resize(turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
      if (turns[i] == seen_[i]) return rounds_;
    }
    seen_ = turns;
    return ++rounds_;
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> seen_;  // When the last round ended. Guarded by mutex_.
  uint64_t rounds_ = 0;         // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_LOOP_ROUNDS_H_
