// Results that threads make in parallel and that are used in order.
#ifndef FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_
#define FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "shared/base/status.h"

namespace fgnn {

// Returns `wanted`, or the number of cores if it is 0.
inline unsigned ThreadsOr(unsigned wanted) {
  if (wanted != 0) return wanted;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

// For each chunk in [0, num_chunks), calls `make(chunk, state)` on any of
// `threads` threads. Calls `use(chunk, state)` for chunk 0, 1, 2, …, one at a
// time. Each thread has one State (default-constructed, reused), so memory is
// bounded by `threads` of them. Both return absl::Status. The first error, in
// the order of chunks, ends the work and is returned.
template <typename State, typename Make, typename Use>
absl::Status RunOrderedChunks(uint64_t num_chunks, unsigned threads, Make make,
                              Use use) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::condition_variable turned;
  uint64_t turn = 0;  // Number of the chunk to be used next. Guarded by mutex.
  absl::Status status;  // Guarded by mutex.

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
      std::unique_lock<std::mutex> lock(mutex);
      // The thread with the lowest chunk never waits, so the loop ends. The
      // time only bounds each wait.
      while (turn != chunk) turned.wait_for(lock, std::chrono::seconds(1));
      if (status.ok()) {
        status = made;
        if (status.ok()) {
          // No other thread may pass while `turn` is unchanged.
          lock.unlock();
          absl::Status used = use(chunk, state);
          lock.lock();
          status = used;
        }
      }
      if (!status.ok()) next = num_chunks;
      ++turn;
      turned.notify_all();
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
  return status;
}

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_ORDERED_CHUNKS_H_
