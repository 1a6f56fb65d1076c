// Tells a daemon that hangs from one that the machine does not let run.
#ifndef FGNN_SCHEDULER_HOST_HANG_WATCH_H_
#define FGNN_SCHEDULER_HOST_HANG_WATCH_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// How long the threads of a process have waited for a core, summed: the second
// number of /proc/PID/task/*/schedstat. NotFound: no such process.
absl::StatusOr<std::chrono::nanoseconds> ReadRunDelay(
    pid_t pid, const std::filesystem::path& proc = "/proc");

struct HangLimits {
  // Without a heartbeat for so long, a daemon is late.
  std::chrono::milliseconds late_after{1'500};
  // Late for so long, beyond what it waited for a core, it hangs.
  std::chrono::milliseconds hung_after{3'500};
  // What one step between two checks counts at most: a scheduler that was
  // stopped itself knows nothing of the time between.
  std::chrono::milliseconds longest_step{500};
};

// Pure: the caller brings the clock and the run delay. Not thread-safe.
class HangWatch {
 public:
  using RunDelay = std::function<absl::StatusOr<std::chrono::nanoseconds>()>;

  HangWatch(HangLimits limits, Deadline now) : limits_(limits), last_(now) {}

  void OnHeartbeat(Deadline now);
  // To be called every now and then. True once the daemon hangs. `run_delay`
  // is asked for only while the daemon is late.
  bool Check(Deadline now, const RunDelay& run_delay);

 private:
  HangLimits limits_;
  Deadline last_;      // Heartbeat.
  bool late_ = false;  // The following are set.
  Deadline checked_;
  std::chrono::nanoseconds delay_seen_{0};
  std::chrono::nanoseconds late_for_{0};
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_HANG_WATCH_H_
