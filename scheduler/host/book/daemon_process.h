// A daemon's process, held by a pidfd. The pidfd names this process for good,
// becomes readable at its end, and never signals another process.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/device/memory_kills.h"

namespace fgnn {

struct LaunchOptions {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // Arguments without the program's name.
  // File that stdout and stderr are appended to; empty: those of this process.
  std::filesystem::path log;
  int stdin_fd = -1;  // What it has as its stdin; -1: /dev/null.
};

struct ProcessEnd {
  std::string how;  // Text such as "by signal 11", "with exit code 2".
  std::optional<int> exit_code =
      std::nullopt;      // nullopt: a signal, or unknown.
  bool crashed = false;  // Whether a signal that its own code caused ended it.
  // Text that says that the kernel killed it for memory; empty: it did not, as
  // far as is known.
  std::string for_memory = "";
};

// Movable. Destroying it neither ends nor reaps the process.
class DaemonProcess {
 public:
  // Starts a child in a process group of its own, so that a terminal's Ctrl-C
  // does not reach it. It inherits no descriptor but those that are named. The
  // child outlives this process: training goes on without the scheduler.
  // NotFound: there is no such program.
  static absl::StatusOr<DaemonProcess> Spawn(const LaunchOptions& options);

  // Takes over a process that somebody else started. NotFound: it is gone, or
  // its start time (field 22 of /proc/PID/stat) shows that it is another
  // process.
  static absl::StatusOr<DaemonProcess> Adopt(pid_t pid, uint64_t start_time);

  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }
  // Returns the pidfd, which is readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // See MemoryKills::Follow().
  void FollowMemory(Deadline now) { kills_.Follow(now); }
  bool HasEnded() const { return WaitForEnd(Deadline::min()); }
  bool WaitForEnd(Deadline deadline) const;
  // Returns how an ended process ended, and reaps it if it is a child of this
  // process.
  ProcessEnd Reap();
  // Sends a signal. Returns OK also if the process has ended.
  absl::Status Signal(int signal) const;

 private:
  DaemonProcess(pid_t pid, uint64_t start_time, UniqueFd pidfd)
      : pid_(pid),
        start_time_(start_time),
        pidfd_(std::move(pidfd)),
        kills_(pid) {}
  pid_t pid_ = 0;
  uint64_t start_time_ = 0;
  UniqueFd pidfd_;
  MemoryKills kills_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_
