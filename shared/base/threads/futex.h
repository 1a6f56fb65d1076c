// Counters in shared memory that processes wait on.
#ifndef FGNN_SHARED_BASE_THREADS_FUTEX_H_
#define FGNN_SHARED_BASE_THREADS_FUTEX_H_

#include <chrono>
#include <cstdint>

#include "shared/base/clock.h"

namespace fgnn {

// No wait is longer than this: a process killed between its change and its
// announcement costs the others no more.
inline constexpr std::chrono::milliseconds kLongestFutexWait{100};

// Adds one to `counter` and wakes everyone who waits on it. What the caller
// did before is seen by whoever reads the new value.
void AnnounceOn(uint32_t* counter);

// The counter's value; what was done before its announcement is seen.
uint32_t ReadCounter(const uint32_t* counter);

// Waits until the counter is not `seen`, the deadline, kLongestFutexWait, or a
// signal, whichever comes first. The caller looks again for itself.
void WaitOn(const uint32_t* counter, uint32_t seen, Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_FUTEX_H_
