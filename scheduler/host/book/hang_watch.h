// Tells a daemon that hangs from one that cannot go on for a while: because the
// machine does not let it run, because it waits for a disk, or because nobody
// listens to it.
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

// What the kernel says of a process.
struct ProcessActivity {
  // Time for which its threads have waited for a core, summed.
  std::chrono::nanoseconds run_delay{0};
  // Times that its heartbeat thread has got a core.
  uint64_t heartbeat_runs = 0;
  uint64_t read_bytes = 0;      // Bytes that it has read from disks.
  bool waits_for_disk = false;  // A thread is in uninterruptible sleep.
};

// From /proc/PID. NotFound: no such process.
absl::StatusOr<ProcessActivity> ReadProcessActivity(
    pid_t pid, const std::filesystem::path& proc = "/proc");

struct HangLimits {
  // Without a sign of life for so long, a daemon is late.
  std::chrono::milliseconds late_after{1'500};
  // Late for so long, beyond the time that it could not use, it hangs.
  std::chrono::milliseconds hung_after{3'500};
  // Most that the time between two checks counts: a scheduler that was stopped
  // itself knows nothing of that time.
  std::chrono::milliseconds longest_step{500};
};

// Limits for work loops, whose sign of life is that they turn. The longest
// piece of work without a turn takes a few seconds of a core.
inline constexpr HangLimits kWorkLoopLimits = {
    .late_after = std::chrono::milliseconds(5'000),
    .hung_after = std::chrono::milliseconds(25'000)};

// Pure: the caller brings the clock and what the kernel says. Not thread-safe.
class HangWatch {
 public:
  using Look = std::function<absl::StatusOr<ProcessActivity>()>;
  enum class Verdict {
    kFine,
    kIsUnheard,     // Its heartbeat thread runs, though nothing is heard of it.
    kWaitsForDisk,  // For as long as would have been a hang otherwise.
    kHangs,
  };

  HangWatch(HangLimits limits, Deadline now) : limits_(limits), last_(now) {}

  void OnSign(Deadline now);
  bool IsLate(Deadline now) const { return now - last_ >= limits_.late_after; }
  // To be called every now and then. `look` is asked for only while the daemon
  // is late. A rise of heartbeat_runs is a sign of life; a caller to whom it is
  // none leaves that number at 0.
  Verdict Check(Deadline now, const Look& look);

 private:
  HangLimits limits_;
  Deadline last_;      // Sign of life.
  bool late_ = false;  // The following are set.
  Deadline checked_;
  ProcessActivity seen_;
  std::chrono::nanoseconds late_for_{0};
  std::chrono::nanoseconds disk_for_{0};  // Time that a disk took.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_HANG_WATCH_H_
