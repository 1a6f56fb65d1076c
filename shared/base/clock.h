// Monotonic time. Every lease, deadline and timer uses it. Only logs use
// wall-clock time.
#ifndef FGNN_SHARED_BASE_CLOCK_H_
#define FGNN_SHARED_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace fgnn {

using MonotonicClock = std::chrono::steady_clock;
using Deadline = MonotonicClock::time_point;

// Returns the nanoseconds since the machine started. All processes of the
// machine see the same clock.
inline uint64_t MonotonicNanoseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          MonotonicClock::now().time_since_epoch())
          .count());
}

inline Deadline DeadlineIn(MonotonicClock::duration duration) {
  return MonotonicClock::now() + duration;
}

// Longest wait of a thread before it looks whether it has to end: a wake-up
// that is lost, or that a killed process did not send, costs at most this time.
inline constexpr std::chrono::milliseconds kTick{100};

// Measures the seconds since its construction or last Restart().
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(MonotonicClock::now() - start_)
        .count();
  }
  // Returns the seconds so far and starts again at zero.
  double Restart() {
    const MonotonicClock::time_point now = MonotonicClock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  MonotonicClock::time_point start_ = MonotonicClock::now();
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_CLOCK_H_
