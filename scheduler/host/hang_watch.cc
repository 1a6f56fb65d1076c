#include "scheduler/host/hang_watch.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {

namespace fs = std::filesystem;

absl::StatusOr<std::chrono::nanoseconds> ReadRunDelay(pid_t pid,
                                                      const fs::path& proc) {
  const fs::path tasks = proc / absl::StrCat(pid) / "task";
  std::error_code error;
  fs::directory_iterator task(tasks, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(tasks.string(), ": ", error.message()));
  }
  int64_t delay_ns = 0;
  for (; task != fs::directory_iterator(); task.increment(error)) {
    if (error) break;
    std::ifstream file(task->path() / "schedstat");
    int64_t run_ns = 0;
    int64_t wait_ns = 0;
    // A thread may end while we look: then it waits no longer.
    if (file >> run_ns >> wait_ns) delay_ns += wait_ns;
  }
  return std::chrono::nanoseconds(delay_ns);
}

void HangWatch::OnHeartbeat(Deadline now) {
  last_ = now;
  late_ = false;
}

bool HangWatch::Check(Deadline now, const RunDelay& run_delay) {
  if (now - last_ < limits_.late_after) return false;
  const auto delay = run_delay();
  if (!delay.ok()) return false;  // It has gone; its pidfd will say so.
  if (!late_) {
    late_ = true;
    checked_ = now;
    delay_seen_ = *delay;
    late_for_ = std::chrono::nanoseconds(0);
    return false;
  }
  const std::chrono::nanoseconds step =
      std::min<std::chrono::nanoseconds>(now - checked_, limits_.longest_step);
  // Threads that ended took their delay with them; that is no time gained.
  const std::chrono::nanoseconds waited =
      std::max(*delay - delay_seen_, std::chrono::nanoseconds(0));
  late_for_ += std::max(step - waited, std::chrono::nanoseconds(0));
  checked_ = now;
  delay_seen_ = *delay;
  return late_for_ >= limits_.hung_after;
}

}  // namespace fgnn
