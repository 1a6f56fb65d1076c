// Counters in shared memory on which processes wait.
#ifndef FGNN_SHARED_BASE_THREADS_FUTEX_H_
#define FGNN_SHARED_BASE_THREADS_FUTEX_H_

#include <chrono>
#include <cstdint>

#include "shared/base/clock.h"

namespace fgnn {

// The longest wait. A process may be killed between its change and its
// announcement. That costs the other processes no more than this wait.
inline constexpr std::chrono::milliseconds kLongestFutexWait{100};

// Adds one to `counter` and wakes all processes that wait on it. A process that
// reads the new value also sees what the caller wrote before.
void AnnounceOn(uint32_t* counter);

// Returns the counter's value. The caller then also sees what was written
// before the announcement of that value.
uint32_t ReadCounter(const uint32_t* counter);

// Waits until the counter is not `seen`, the deadline or kLongestFutexWait has
// passed, or a signal has come, whichever is first. The caller looks again.
void WaitOn(const uint32_t* counter, uint32_t seen, Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_FUTEX_H_
