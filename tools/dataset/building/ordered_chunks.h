// Results that threads make in parallel and that are used in order.
#ifndef FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_
#define FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Returns `wanted`, or the number of cores if it is 0.
inline unsigned ThreadsOr(unsigned wanted) {
  if (wanted != 0) return wanted;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

// Lets chunks be used one at a time, in order. Thread-safe.
class ChunkOrder {
 public:
  // Waits until all chunks before this one have ended. Returns whether none of
  // them failed.
  bool WaitFor(uint64_t chunk) {
    MutexLock lock(&mutex_);
    // The thread with the lowest chunk never waits, so the loop ends. The time
    // only bounds each wait.
    while (!ended_.WaitUntil(&lock, DeadlineIn(std::chrono::seconds(1)),
                             [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return turn_ == chunk;
                             })) {
    }
    return status_.ok();
  }
  // Ends the chunk that was waited for. Keeps the first error.
  void End(const absl::Status& status) {
    const MutexLock lock(&mutex_);
    status_.Update(status);
    ++turn_;
    ended_.NotifyAll();
  }
  absl::Status status() const {
    const MutexLock lock(&mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  CondVar ended_;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of the next chunk.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// For each chunk in [0, num_chunks), calls `make(chunk, state)` on any of
// `threads` threads. Calls `use(chunk, state)` for chunk 0, 1, 2, …, one at a
// time. Each thread has one State (default-constructed, reused), so memory is
// bounded by `threads` of them. Both return absl::Status. The first error, in
// the order of chunks, ends the work and is returned.
template <typename State, typename Make, typename Use>
absl::Status RunOrderedChunks(uint64_t num_chunks, unsigned threads, Make make,
                              Use use) {
  std::atomic<uint64_t> next{0};
  ChunkOrder order;

  const auto work = [&] {
    State state;
    for (;;) {
      const uint64_t chunk = next.fetch_add(1);
      if (chunk >= num_chunks) return;
      absl::Status made;
      try {
        made = make(chunk, state);
      } catch (const std::bad_alloc&) {
        made = absl::ResourceExhaustedError(
            "not enough memory; end other programs or use fewer threads");
      }
      if (order.WaitFor(chunk) && made.ok()) made = use(chunk, state);
      // After an error no thread begins another chunk.
      if (!made.ok()) next = num_chunks;
      order.End(made);
    }
  };

  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads && i < num_chunks; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // The number of threads is limited: those that exist do the work.
    }
  }
  work();
  for (std::thread& thread : others) thread.join();
  return order.status();
}

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_
