#include "tools/fgnn/service/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostOutputBytes = 64 << 10;

// Returns argv for exec; borrows `args`.
std::vector<char*> MakeArgv(const std::string& program,
                            const std::vector<std::string>& args) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& arg : args) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  return argv;
}

int MillisecondsUntil(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - MonotonicClock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 3600'000));
}

// Reads until end of file. Returns false if the deadline passed first.
bool ReadOutput(int fd, Deadline deadline, std::string& output) {
  char buffer[4096];
  while (true) {
    pollfd readable = {fd, POLLIN, 0};
    const int ready = ::poll(&readable, 1, MillisecondsUntil(deadline));
    if (ready == 0) return false;
    if (ready < 0 && errno != EINTR) return true;
    if (ready < 0) continue;
    const ssize_t size = ::read(fd, buffer, sizeof(buffer));
    if (size <= 0) return true;
    const size_t room = kMostOutputBytes - output.size();
    output.append(buffer, std::min(room, static_cast<size_t>(size)));
  }
}

}  // namespace

std::string ExplainMemoryKill(const MemoryKills& kills, int status,
                              const rusage& use) {
  const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!was_killed || !kills.HasKilled()) return "";
  return kills.Describe(static_cast<uint64_t>(use.ru_maxrss) * 1024);
}

absl::StatusOr<std::filesystem::path> FindProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoToStatus(error.value(), "read /proc/self/exe");
  std::filesystem::path program = self.parent_path() / name;
  if (::access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        program.string(), " is missing: fgnn's programs belong in one folder"));
  }
  return program;
}

absl::StatusOr<ProgramOutput> RunProgram(const std::filesystem::path& program,
                                         const std::vector<std::string>& args,
                                         Deadline deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "make a pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), 2);
  const std::string path = program.string();
  const MemoryKills kills;
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, path.c_str(), &actions, nullptr,
                                   MakeArgv(path, args).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return ErrnoToStatus(failed, absl::StrCat("start ", path));
  writer.Reset();

  ProgramOutput result;
  const bool ended = ReadOutput(reader.get(), deadline, result.output);
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  rusage use = {};
  // The program has closed its output or was killed: it will end at once.
  while (::wait4(pid, &status, 0, &use) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return absl::DeadlineExceededError(absl::StrCat(path, " did not end"));
  }
  if (std::string killed = ExplainMemoryKill(kills, status, use);
      !killed.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " ended by signal 9, ", killed));
  }
  result.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

absl::Status ReplaceByProgram(const std::filesystem::path& program,
                              const std::vector<std::string>& args) {
  const std::string path = program.string();
  ::execv(path.c_str(), MakeArgv(path, args).data());
  return ErrnoToStatus(errno, absl::StrCat("start ", path));
}

absl::Status WaitUntilGone(pid_t pid, Deadline deadline) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    if (errno == ESRCH) return absl::OkStatus();
    return ErrnoToStatus(errno, absl::StrCat("open process ", pid));
  }
  while (true) {
    pollfd gone = {process.get(), POLLIN, 0};
    const int ready = ::poll(&gone, 1, MillisecondsUntil(deadline));
    if (ready > 0) break;
    if (ready < 0 && errno == EINTR) continue;
    return absl::DeadlineExceededError(
        absl::StrCat("process ", pid, " does not end; kill ", pid));
  }
  // Does nothing for a process that is not our child.
  ::waitpid(pid, nullptr, WNOHANG);
  return absl::OkStatus();
}

}  // namespace fgnn
