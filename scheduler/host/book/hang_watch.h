// Tells a daemon that hangs from a daemon that cannot go on for a while. A
// daemon cannot go on if the machine does not let it run, if it waits for a
// disk, or if its heartbeats do not arrive.
#ifndef FGNN_SCHEDULER_HOST_BOOK_HANG_WATCH_H_
#define FGNN_SCHEDULER_HOST_BOOK_HANG_WATCH_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// Activity of a process, as the kernel reports it.
struct ProcessActivity {
  // Time for which its threads have waited for a core, summed over them.
  std::chrono::nanoseconds run_delay{0};
  // Number of times that its heartbeat thread has got a core.
  uint64_t heartbeat_runs = 0;
  uint64_t read_bytes = 0;      // Bytes read from disks.
  bool waits_for_disk = false;  // Whether a thread is in uninterruptible sleep.
};

// Reads the activity from /proc/PID. NotFound: there is no such process.
absl::StatusOr<ProcessActivity> ReadProcessActivity(
    pid_t pid, const std::filesystem::path& proc = "/proc");

struct HangLimits {
  // Time without a sign of life after which a daemon is late.
  std::chrono::milliseconds late_after{1'500};
  // Time of being late after which a daemon hangs; time in which it could not
  // run does not count.
  std::chrono::milliseconds hung_after{3'500};
  // Most time that counts between two checks: a scheduler that was stopped
  // itself does not know what happened meanwhile.
  std::chrono::milliseconds longest_step{500};
};

// Limits for work loops; each round of the loop is a sign of life. The longest
// round takes a few seconds of a core.
inline constexpr HangLimits kWorkLoopLimits = {
    .late_after = std::chrono::milliseconds(5'000),
    .hung_after = std::chrono::milliseconds(25'000)};

// Pure: the caller passes the time and the process's activity. Not thread-safe.
class HangWatch {
 public:
  using Look = std::function<absl::StatusOr<ProcessActivity>()>;
  enum class Verdict {
    kFine,
    kIsUnheard,  // The heartbeat thread runs, but no heartbeat arrives.
    // The daemon has waited for a disk for as long as would be a hang
    // otherwise.
    kWaitsForDisk,
    kHangs,
  };

  HangWatch(HangLimits limits, Deadline now) : limits_(limits), last_(now) {}

  void OnSign(Deadline now);
  bool IsLate(Deadline now) const { return now - last_ >= limits_.late_after; }
  // Judges the daemon; to be called regularly. `look` is called only while the
  // daemon is late. A rise of heartbeat_runs is a sign of life; a caller for
  // which it is none leaves that number at 0.
  Verdict Check(Deadline now, const Look& look);

 private:
  HangLimits limits_;
  Deadline last_;      // Time of the last sign of life.
  bool late_ = false;  // Whether the daemon is late and the following are set.
  Deadline checked_;
  ProcessActivity seen_;
  std::chrono::nanoseconds late_for_{0};
  std::chrono::nanoseconds disk_for_{0};  // Time of waiting for a disk.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_HANG_WATCH_H_
