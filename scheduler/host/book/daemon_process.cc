#include "scheduler/host/book/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/fresh_signals.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

absl::StatusOr<UniqueFd> OpenPidfd(pid_t pid) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("open process ", pid));
  }
  return fd;
}

int RedirectStreams(posix_spawn_file_actions_t* actions,
                    const LaunchOptions& options) {
  if (const int error =
          options.stdin_fd < 0
              ? ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO,
                                                   "/dev/null", O_RDONLY, 0)
              : ::posix_spawn_file_actions_adddup2(actions, options.stdin_fd,
                                                   STDIN_FILENO)) {
    return error;
  }
  if (!options.log.empty()) {
    if (const int error = ::posix_spawn_file_actions_addopen(
            actions, STDOUT_FILENO, options.log.c_str(),
            O_WRONLY | O_CREAT | O_APPEND, 0640)) {
      return error;
    }
    if (const int error = ::posix_spawn_file_actions_adddup2(
            actions, STDOUT_FILENO, STDERR_FILENO)) {
      return error;
    }
  }
  return ::posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
}

absl::StatusOr<pid_t> SpawnChild(const LaunchOptions& options) {
  const std::string what = absl::StrCat("start ", options.program.string());
  std::vector<std::string> words = {options.program.string()};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawnattr_init(&attributes)) {
    return ErrnoToStatus(error, what);
  }
  const auto destroy_attributes =
      absl::MakeCleanup([&] { ::posix_spawnattr_destroy(&attributes); });
  posix_spawn_file_actions_t actions;
  if (const int error = ::posix_spawn_file_actions_init(&actions)) {
    return ErrnoToStatus(error, what);
  }
  const auto destroy_actions =
      absl::MakeCleanup([&] { ::posix_spawn_file_actions_destroy(&actions); });
  if (const int error = SetFreshSignals(&attributes)) {
    return ErrnoToStatus(error, what);
  }
  if (const int error = RedirectStreams(&actions, options)) {
    return ErrnoToStatus(error, what);
  }
  pid_t pid = 0;
  if (const int error = ::posix_spawn(&pid, options.program.c_str(), &actions,
                                      &attributes, argv.data(), environ)) {
    return ErrnoToStatus(error, what);
  }
  return pid;
}

}  // namespace

absl::StatusOr<DaemonProcess> DaemonProcess::Spawn(
    const LaunchOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const pid_t pid, SpawnChild(options));
  absl::StatusOr<UniqueFd> pidfd = OpenPidfd(pid);
  const absl::StatusOr<uint64_t> start_time = ReadProcessStartTime(pid);
  if (!pidfd.ok() || !start_time.ok()) {
    // Without a pidfd the scheduler would not learn of its end. The child is
    // not reaped, so the pid is still its own.
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return pidfd.ok() ? start_time.status() : pidfd.status();
  }
  return DaemonProcess(pid, *start_time, std::move(*pidfd));
}

absl::StatusOr<DaemonProcess> DaemonProcess::Adopt(pid_t pid,
                                                   uint64_t start_time) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd pidfd, OpenPidfd(pid));
  // The start time is read after the pidfd is open, so that it is the time of
  // this process.
  FGNN_ASSIGN_OR_RETURN(const uint64_t found, ReadProcessStartTime(pid));
  if (found != start_time) {
    return absl::NotFoundError(
        absl::StrCat("process ", pid, " started at tick ", found, ", not ",
                     start_time, ": it is another process"));
  }
  return DaemonProcess(pid, start_time, std::move(pidfd));
}

bool DaemonProcess::WaitForEnd(Deadline deadline) const {
  while (true) {
    const Deadline now = MonotonicClock::now();
    const int64_t left_ms =
        deadline <= now
            ? 0
            : std::chrono::ceil<std::chrono::milliseconds>(deadline - now)
                  .count();
    pollfd ended = {pidfd_.get(), POLLIN, 0};
    const int ready =
        ::poll(&ended, 1, static_cast<int>(std::min<int64_t>(left_ms, 60'000)));
    if (ready > 0) return true;
    if (left_ms == 0) return false;
  }
}

ProcessEnd DaemonProcess::Reap() {
  siginfo_t info = {};
  rusage use = {};
  // The C library's waitid() does not pass on the kernel's last argument.
  if (::syscall(SYS_waitid, P_PIDFD, pidfd_.get(), &info, WEXITED | WNOHANG,
                &use) != 0 ||
      info.si_pid == 0) {
    ProcessEnd end = {.how = "for a reason that only its parent knows"};
    if (kills_.HasKilled()) end.for_memory = kills_.Describe(0);
    return end;
  }
  if (info.si_code == CLD_EXITED) {
    return {.how = absl::StrCat("with exit code ", info.si_status),
            .exit_code = info.si_status};
  }
  constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  ProcessEnd end = {
      .how = absl::StrCat("by signal ", info.si_status),
      .crashed = std::find(std::begin(kCrashes), std::end(kCrashes),
                           info.si_status) != std::end(kCrashes)};
  if (info.si_status == SIGKILL && kills_.HasKilled()) {
    end.for_memory =
        kills_.Describe(static_cast<uint64_t>(use.ru_maxrss) * 1024);
  }
  return end;
}

absl::Status DaemonProcess::Signal(int signal) const {
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) == 0 ||
      errno == ESRCH) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, absl::StrCat("signal process ", pid_));
}

}  // namespace fgnn
