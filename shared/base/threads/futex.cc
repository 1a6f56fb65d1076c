#include "shared/base/threads/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <ctime>

namespace fgnn {

static_assert(std::atomic_ref<uint32_t>::is_always_lock_free);

void AnnounceOn(uint32_t* counter) {
  std::atomic_ref<uint32_t>(*counter).fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, counter, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t ReadCounter(const uint32_t* counter) {
  return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(*counter))
      .load(std::memory_order_seq_cst);
}

void WaitOn(const uint32_t* counter, uint32_t seen, Deadline deadline) {
  const auto left = std::min<MonotonicClock::duration>(
      deadline - MonotonicClock::now(), kLongestFutexWait);
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  if (nanoseconds <= 0) return;
  // The wait is less than a second: see kLongestFutexWait.
  const timespec timeout = {.tv_sec = 0, .tv_nsec = nanoseconds};
  // The caller looks again after every result of the call. The futex is not a
  // private one, since other processes wake this process.
  ::syscall(SYS_futex, counter, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace fgnn
