#include "scheduler/host/book/hang_watch.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

// Name that HostSession gives its thread.
constexpr char kHeartbeatThread[] = "heartbeat";

// Returns the letter in field 3 of a stat file, which follows the name in
// parentheses.
char StateOf(const fs::path& task) {
  std::ifstream file(task / "stat");
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= text.size()
             ? '?'
             : text[name_end + 2];
}

// A thread that ends meanwhile waits for nothing any more and is left out.
void AddThread(const fs::path& task, ProcessActivity& activity) {
  int64_t run_ns = 0;
  int64_t wait_ns = 0;
  uint64_t runs = 0;
  if (!(std::ifstream(task / "schedstat") >> run_ns >> wait_ns >> runs)) return;
  activity.run_delay += nanoseconds(wait_ns);
  activity.waits_for_disk |= StateOf(task) == 'D';
  std::string name;
  if (std::getline(std::ifstream(task / "comm") >> std::ws, name) &&
      name == kHeartbeatThread) {
    activity.heartbeat_runs += runs;
  }
}

// Returns the bytes read from disks; 0: the kernel does not tell.
uint64_t ReadBytesOf(const fs::path& process) {
  std::ifstream file(process / "io");
  std::string word;
  uint64_t number = 0;
  while (file >> word >> number) {
    if (word == "read_bytes:") return number;
  }
  return 0;
}

}  // namespace

absl::StatusOr<ProcessActivity> ReadProcessActivity(pid_t pid,
                                                    const fs::path& proc) {
  const fs::path process = proc / absl::StrCat(pid);
  std::error_code error;
  fs::directory_iterator task(process / "task", error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat((process / "task").string(), ": ", error.message()));
  }
  ProcessActivity activity;
  for (; !error && task != fs::directory_iterator(); task.increment(error)) {
    AddThread(task->path(), activity);
  }
  activity.read_bytes = ReadBytesOf(process);
  return activity;
}

void HangWatch::OnSign(Deadline now) {
  last_ = now;
  late_ = false;
}

HangWatch::Verdict HangWatch::Check(Deadline now, const Look& look) {
  if (!IsLate(now)) return Verdict::kFine;
  const auto activity = look();
  // The process is gone; its pidfd will tell.
  if (!activity.ok()) return Verdict::kFine;
  if (!late_) {
    late_ = true;
    checked_ = now;
    seen_ = *activity;
    late_for_ = nanoseconds(0);
    disk_for_ = nanoseconds(0);
    return Verdict::kFine;
  }
  if (activity->heartbeat_runs > seen_.heartbeat_runs) {
    OnSign(now);
    return Verdict::kIsUnheard;
  }
  const nanoseconds step =
      std::min<nanoseconds>(now - checked_, limits_.longest_step);
  if (activity->waits_for_disk || activity->read_bytes > seen_.read_bytes) {
    disk_for_ += step;
  } else {
    // The delay of threads that ended is missing from the sum, so the
    // difference may be negative.
    const nanoseconds waited =
        std::max(activity->run_delay - seen_.run_delay, nanoseconds(0));
    late_for_ += std::max(step - waited, nanoseconds(0));
  }
  checked_ = now;
  seen_ = *activity;
  if (late_for_ >= limits_.hung_after) return Verdict::kHangs;
  return disk_for_ >= limits_.hung_after ? Verdict::kWaitsForDisk
                                         : Verdict::kFine;
}

}  // namespace fgnn
