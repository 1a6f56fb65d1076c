#include "tools/fgnn/service/forced_end.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "scheduler/host/book/leftover_daemons.h"
#include "scheduler/host/book/state_lock.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "tools/fgnn/service/program.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Time for the kernel to end a process that was killed.
constexpr std::chrono::seconds kKillTimeout{10};

// Returns false if no process holds the lock. The lock is held for a moment
// only to find that out.
absl::StatusOr<bool> IsHeld(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) return false;
  if (!fd.valid()) return ErrnoToStatus(errno, path.string());
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return ErrnoToStatus(errno, absl::StrCat("look at ", path.string()));
}

// Returns true if the process has the lock by one of its descriptors.
absl::StatusOr<bool> HoldsLock(pid_t pid, const fs::path& path) {
  struct stat lock = {};
  if (::stat(path.c_str(), &lock) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  const fs::path process = absl::StrCat("/proc/", pid);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    struct stat file = {};
    const bool is_it = ::stat(entry.path().c_str(), &file) == 0 &&
                       file.st_dev == lock.st_dev && file.st_ino == lock.st_ino;
    if (!is_it) continue;
    const auto info =
        ReadSmallFile(process / "fdinfo" / entry.path().filename());
    if (info.ok() && absl::StrContains(*info, "FLOCK")) return true;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoToStatus(error.value(), absl::StrCat("look at process ", pid));
  }
  return false;
}

absl::Status Signal(const UniqueFd& process, pid_t pid, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) !=
          0 &&
      errno != ESRCH) {
    return ErrnoToStatus(errno, absl::StrCat("end process ", pid));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> EndLeftDaemons(const fs::path& state_dir) {
  if (FindLeftoverDaemons(state_dir).empty()) return 0;
  const absl::StatusOr<StateLock> lock = StateLock::Take(state_dir);
  // A service that has started meanwhile ends them itself.
  if (absl::IsAlreadyExists(lock.status())) return 0;
  FGNN_RETURN_IF_ERROR(lock.status());
  const int num_ended = StopLeftoverDaemons(state_dir);
  const std::vector<LeftoverDaemon> left = FindLeftoverDaemons(state_dir);
  if (left.empty()) return num_ended;
  return absl::InternalError(absl::StrCat(
      "daemons of an earlier service do not end: ", left.front().name, " (pid ",
      left.front().process.pid(), ")"));
}

absl::StatusOr<std::optional<pid_t>> EndByForce(
    const fs::path& state_dir, std::chrono::milliseconds patience) {
  const fs::path path = LockPath(state_dir);
  FGNN_ASSIGN_OR_RETURN(const bool is_held, IsHeld(path));
  if (!is_held) return std::optional<pid_t>();
  FGNN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  pid_t pid = 0;
  const bool has_pid =
      absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &pid) && pid > 0;
  // From here on another process with this number is not mistaken for it.
  const UniqueFd process(
      has_pid ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  bool holds = false;
  if (process.valid()) {
    FGNN_ASSIGN_OR_RETURN(holds, HoldsLock(pid, path));
  }
  if (!holds) {
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), " is locked, but not by the process ",
        absl::StripAsciiWhitespace(text), " that it names; 'fuser ",
        path.string(), "' names the one to end"));
  }
  FGNN_RETURN_IF_ERROR(Signal(process, pid, SIGTERM));
  if (!WaitUntilGone(pid, DeadlineIn(patience)).ok()) {
    FGNN_RETURN_IF_ERROR(Signal(process, pid, SIGKILL));
    FGNN_RETURN_IF_ERROR(WaitUntilGone(pid, DeadlineIn(kKillTimeout)));
  }
  FGNN_RETURN_IF_ERROR(EndLeftDaemons(state_dir).status());
  return std::optional<pid_t>(pid);
}

}  // namespace fgnn
