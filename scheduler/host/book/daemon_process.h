// A daemon's process, held by a pidfd: it names the process for good, becomes
// readable at its end, and its signals never meet another process.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct LaunchOptions {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // Without the program's name.
  std::filesystem::path log;           // stdout and stderr are appended to it.
};

struct ProcessEnd {
  std::string how;       // "by signal 11", "with exit code 2"
  bool crashed = false;  // By a signal that its own code caused.
};

// Movable. Destroying it neither ends nor reaps the process.
class DaemonProcess {
 public:
  // Starts a child in a process group of its own, so that a terminal's Ctrl-C
  // does not reach it; stdin is /dev/null, no other descriptor is inherited. It
  // outlives this process: training goes on without the scheduler.
  // NotFound: no such program.
  static absl::StatusOr<DaemonProcess> Spawn(const LaunchOptions& options);

  // A process that somebody else started. NotFound: it is gone, or its start
  // time (field 22 of /proc/PID/stat) shows that it is another one.
  static absl::StatusOr<DaemonProcess> Adopt(pid_t pid, uint64_t start_time);

  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }
  int pidfd() const { return pidfd_.get(); }  // Readable once it has ended.

  bool HasEnded() const { return WaitForEnd(Deadline::min()); }
  bool WaitForEnd(Deadline deadline) const;
  // Of an ended process: takes it off the kernel's table if it is our child.
  ProcessEnd Reap();
  // OK too if it has ended.
  absl::Status Signal(int signal) const;

 private:
  DaemonProcess(pid_t pid, uint64_t start_time, UniqueFd pidfd)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)) {}
  pid_t pid_ = 0;
  uint64_t start_time_ = 0;
  UniqueFd pidfd_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_PROCESS_H_
