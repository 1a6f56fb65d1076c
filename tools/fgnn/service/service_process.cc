#include "tools/fgnn/service/service_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/socket_group.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tools/fgnn/service/program.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kReadyTimeout{30};
// Time for a service that another program starts to listen.
constexpr std::chrono::seconds kOthersTimeout{10};
constexpr std::chrono::seconds kStartedEndTimeout{10};
constexpr int kReadyFd = 3;

// Runs in the forked child, where only async-signal-safe calls are allowed.
[[noreturn]] void BecomeScheduler(char* const* argv, int log_fd, int ready_fd) {
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The descriptors are moved to high numbers first: they may have the low
  // numbers that are set below.
  const int log_copy = ::fcntl(log_fd, F_DUPFD, 10);
  const int ready_copy = ::fcntl(ready_fd, F_DUPFD, 10);
  if (null_fd < 0 || log_copy < 0 || ready_copy < 0 || ::dup2(null_fd, 0) < 0 ||
      ::dup2(log_copy, 1) < 0 || ::dup2(log_copy, 2) < 0 ||
      ::dup2(ready_copy, kReadyFd) < 0 || ::chdir("/") != 0) {
    ::_exit(126);
  }
  ::syscall(SYS_close_range, kReadyFd + 1, ~0U, 0);
  ::execv(argv[0], argv);
  ::_exit(127);
}

// Returns the last line that the log gained since `before`, without the time,
// level and name before a message.
std::string LastWords(const std::filesystem::path& log, size_t before) {
  const absl::StatusOr<std::string> text = ReadSmallFile(log, 1 << 30);
  if (!text.ok() || text->size() <= before) return "";
  std::string gained = text->substr(before);
  gained.erase(gained.find_last_not_of(" \n") + 1);
  // Other schedulers may have written to the log meanwhile, and daemons: a
  // scheduler that refuses to start says so under its name.
  constexpr std::string_view kName = "fgnn-scheduler: ";
  const size_t name = gained.rfind(kName);
  if (name == std::string::npos) {
    return gained.substr(gained.find_last_of('\n') + 1);
  }
  const std::string words = gained.substr(name + kName.size());
  return words.substr(0, words.find('\n'));
}

size_t FileSize(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  return size < 0 ? 0 : static_cast<size_t>(size);
}

// Returns what the scheduler has written of its start: "ready", or "failed" and
// a code. Returns an empty text if it ended or the deadline passed before.
std::string WaitForWord(int ready_fd, Deadline deadline) {
  std::string word;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - MonotonicClock::now());
    if (left.count() <= 0) return "";
    pollfd readable = {ready_fd, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "";
    char bytes[64];
    const ssize_t size = ::read(ready_fd, bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return "";
    word.append(bytes, static_cast<size_t>(size));
    if (const size_t end = word.find('\n'); end != std::string::npos) {
      return word.substr(0, end);
    }
  }
}

// Returns false if the child has not ended at the deadline.
bool AwaitChild(pid_t pid, Deadline deadline, int& status, rusage& use) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  while (::wait4(pid, &status, WNOHANG, &use) == 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - MonotonicClock::now());
    if (left.count() <= 0) return false;
    pollfd ended = {process.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(left.count()));
  }
  return true;
}

// Returns the code of a scheduler that has ended. `word` is what it wrote of
// its start; one that wrote nothing refused its command line, or crashed.
absl::StatusCode CodeOfFailure(const std::string& word, int status) {
  constexpr std::string_view kFailed = "failed ";
  int number = 0;
  if (word.compare(0, kFailed.size(), kFailed) == 0 &&
      absl::SimpleAtoi(word.substr(kFailed.size()), &number)) {
    const auto code = static_cast<absl::StatusCode>(number);
    // The command was right, and somebody else is there.
    return code == absl::StatusCode::kAlreadyExists
               ? absl::StatusCode::kFailedPrecondition
               : code;
  }
  const bool is_wrong_use = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  return is_wrong_use ? absl::StatusCode::kInvalidArgument
                      : absl::StatusCode::kInternal;
}

// Returns the reason why a scheduler, our child, is not ready. `word` is what
// it wrote of its start.
absl::Status ExplainFailure(pid_t pid, const std::string& word,
                            const std::filesystem::path& log, size_t log_size,
                            const MemoryKills& kills) {
  int status = 0;
  rusage use = {};
  // End of file comes shortly before the end of the process. One that has said
  // that it failed ends by itself.
  const std::chrono::seconds patience =
      word.empty() ? std::chrono::seconds(1) : kStartedEndTimeout;
  if (!AwaitChild(pid, DeadlineIn(patience), status, use)) {
    // The scheduler leads a process group: its daemons get the signal too.
    ::kill(-pid, SIGTERM);
    if (!AwaitChild(pid, DeadlineIn(kStartedEndTimeout), status, use)) {
      ::kill(-pid, SIGKILL);
    }
    return absl::DeadlineExceededError(
        absl::StrCat("the scheduler was not ready in ", kReadyTimeout.count(),
                     " s; see ", log.string()));
  }
  if (const std::string killed = ExplainMemoryKill(kills, status, use);
      !killed.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the scheduler did not start: it ended by signal 9, ", killed));
  }
  const std::string words = LastWords(log, log_size);
  const std::string message =
      words.empty()
          ? absl::StrCat("the scheduler did not start; see ", log.string())
          : absl::StrCat("the scheduler did not start: ", words);
  return absl::Status(CodeOfFailure(word, status), message);
}

}  // namespace

absl::StatusOr<bool> ServiceListens(const std::filesystem::path& state_dir) {
  const std::filesystem::path path = SchedulerSocketPath(state_dir);
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address, MakeSocketAddress(path));
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return ErrnoToStatus(errno, "make a socket");
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0) {
    return true;
  }
  if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) {
    return false;
  }
  if (errno == EACCES) return ExplainDenied(state_dir);
  return ErrnoToStatus(errno,
                       absl::StrCat("reach the service at ", path.string()));
}

absl::Status ExplainDenied(const std::filesystem::path& state_dir) {
  const std::string denied = absl::StrCat(
      "reach the service at ", SchedulerSocketPath(state_dir).string(),
      ": Permission denied");
  struct stat folder {};
  if (::stat(state_dir.c_str(), &folder) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        denied, "; a folder above it is closed to ", UserName(::geteuid()),
        ": its owner has to open it, or to run the service in another "
        "--state-dir"));
  }
  const std::string owner = UserName(folder.st_uid);
  const std::string group = GroupName(folder.st_gid);
  const std::string of_it = absl::StrCat("--state-dir ", state_dir.string());
  // Who joins root's group may do more than submit jobs.
  const std::string join =
      folder.st_gid == 0
          ? ""
          : absl::StrCat("; or let root run 'usermod -aG ", group, " ",
                         UserName(::geteuid()), "', and log in again");
  return absl::PermissionDeniedError(absl::StrCat(
      denied, "; it is open to user ", owner, " and to group ", group, ": let ",
      owner, " run 'fgnn down ", of_it, "' and 'fgnn up ", of_it,
      " --socket-group GROUP' with a group that both are in", join));
}

absl::StatusOr<pid_t> StartService(const ServiceStart& start) {
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path program,
                        FindProgram("fgnn-scheduler"));
  FGNN_RETURN_IF_ERROR(MakeStateDir(start.state_dir));
  const std::filesystem::path log = LogPath(start.state_dir, "scheduler");
  const UniqueFd log_fd(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!log_fd.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("open ", log.string()));
  }
  const size_t log_size = FileSize(log_fd.get());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "make a pipe");
  const UniqueFd ready_reader(ends[0]);
  UniqueFd ready_writer(ends[1]);

  std::vector<std::string> words = {program.string(),
                                    "--state-dir",
                                    start.state_dir.string(),
                                    "--devices",
                                    absl::StrJoin(NamesOf(start.devices), ","),
                                    "--spawn-daemons",
                                    "--ready-fd",
                                    absl::StrCat(kReadyFd)};
  if (start.exit_when_idle) words.push_back("--exit-when-idle");
  if (!start.socket_group.empty()) {
    words.push_back("--socket-group");
    words.push_back(start.socket_group);
  }
  if (!start.http.empty()) {
    words.push_back("--http");
    words.push_back(start.http);
  }
  if (start.log_json) words.push_back("--log-json");
  if (start.http_is_public) words.push_back("--http-public");
  words.insert(words.end(), start.rules.begin(), start.rules.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const MemoryKills kills;
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoToStatus(errno, "start the scheduler");
  if (pid == 0) {
    BecomeScheduler(argv.data(), log_fd.get(), ready_writer.get());
  }
  ready_writer.Reset();
  const std::string word =
      WaitForWord(ready_reader.get(), DeadlineIn(kReadyTimeout));
  if (word == "ready") return pid;
  return ExplainFailure(pid, word, log, log_size, kills);
}

absl::StatusOr<std::optional<pid_t>> StartServiceUnlessOthersDo(
    const ServiceStart& start) {
  const absl::StatusOr<pid_t> started = StartService(start);
  if (started.ok()) return std::optional<pid_t>(*started);
  const bool others = absl::IsFailedPrecondition(started.status()) &&
                      WaitForServer(SchedulerSocketPath(start.state_dir),
                                    DeadlineIn(kOthersTimeout))
                          .ok();
  if (others) return std::optional<pid_t>();
  return started.status();
}

}  // namespace fgnn
