#include "trainer_service/nn/python/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "shared/base/status.h"
#include "shared/base/threads/fresh_signals.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kMemoryFd = 3;  // What the worker has beside its streams.
constexpr size_t kMostLineBytes = 1000;
// Lines that a worker may print into the log.
constexpr int kMostLines = 10'000;
constexpr int kTickMs = 1000;

int SetStreams(posix_spawn_file_actions_t* actions, int output, int memory) {
  if (const int error = ::posix_spawn_file_actions_addopen(
          actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)) {
    return error;
  }
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (const int error =
            ::posix_spawn_file_actions_adddup2(actions, output, stream)) {
      return error;
    }
  }
  if (const int error =
          ::posix_spawn_file_actions_adddup2(actions, memory, kMemoryFd)) {
    return error;
  }
  return ::posix_spawn_file_actions_addclosefrom_np(actions, kMemoryFd + 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    const WorkerCommand& command) {
  auto worker = absl::WrapUnique(new WorkerProcess);
  FGNN_ASSIGN_OR_RETURN(
      worker->thread_,
      Thread::Start("fgnn-python",
                    [raw = worker.get(), command] { raw->Run(command); }));
  while (!worker->started_.WaitUntil(DeadlineIn(std::chrono::seconds(1)))) {
    // A start is a call of the system, which ends.
  }
  const MutexLock lock(&worker->mutex_);
  FGNN_RETURN_IF_ERROR(worker->start_);
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (process_.valid()) Kill();
}

void WorkerProcess::Run(const WorkerCommand& command) {
  int ends[2] = {-1, -1};
  absl::Status start;
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    start = ErrnoToStatus(errno, "make a pipe");
  }
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  if (start.ok()) start = Spawn(command, input.get());
  input.Reset();
  {
    const MutexLock lock(&mutex_);
    start_ = start;
  }
  started_.Notify();
  if (start.ok()) ReadUntilEnd(output.get());
  ended_.Notify();
}

absl::Status WorkerProcess::Spawn(const WorkerCommand& command, int output) {
  const std::string program =
      command.python.empty() ? "python3" : command.python;
  std::vector<std::string> words = {program,
                                    "-m",
                                    "fgnn.worker",
                                    command.target,
                                    absl::StrCat(kMemoryFd),
                                    absl::StrCat(::getpid())};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // No module is taken from the folder where the service was started.
  char safe_path[] = "PYTHONSAFEPATH=1";
  std::vector<char*> environment = {safe_path};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  if (const int error = ::posix_spawnattr_init(&attributes)) {
    return ErrnoToStatus(error, "start a worker");
  }
  const auto destroy_attributes =
      absl::MakeCleanup([&] { ::posix_spawnattr_destroy(&attributes); });
  if (const int error = ::posix_spawn_file_actions_init(&actions)) {
    return ErrnoToStatus(error, "start a worker");
  }
  const auto destroy_actions =
      absl::MakeCleanup([&] { ::posix_spawn_file_actions_destroy(&actions); });
  int error = SetFreshSignals(&attributes);
  if (error == 0) error = SetStreams(&actions, output, command.memory);
  if (error == 0) {
    error = ::posix_spawnp(&pid_, program.c_str(), &actions, &attributes,
                           argv.data(), environment.data());
  }
  if (error == ENOENT) {
    return absl::NotFoundError(
        command.python.empty()
            ? "there is no python3 on the service's PATH; name an interpreter "
              "in model.python"
            : absl::StrCat("model.python ", command.python,
                           " does not exist; name an interpreter that has "
                           "torch and fgnn"));
  }
  if (error != 0) {
    return ErrnoToStatus(error, absl::StrCat("start ", program));
  }
  process_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (process_.valid()) return absl::OkStatus();
  error = errno;
  // It is not reaped, so the pid is still its own.
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  return ErrnoToStatus(error, "open a worker's process");
}

void WorkerProcess::ReadUntilEnd(int output) {
  std::string text;
  std::array<char, 4096> chunk;
  bool ends = false;
  while (true) {
    // Processes that the worker has started may keep the pipe open.
    std::array<pollfd, 2> fds = {pollfd{output, POLLIN, 0},
                                 pollfd{process_.get(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), ends ? 0 : kTickMs) <= 0) {
      if (ends) break;
      continue;
    }
    ends = fds[1].revents != 0;
    if (fds[0].revents == 0) {
      if (ends) break;
      continue;
    }
    const ssize_t got = ::read(output, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (ends) break;
      // It has closed its streams, and lives.
      pollfd process = {process_.get(), POLLIN, 0};
      while (::poll(&process, 1, kTickMs) <= 0) {
      }
      break;
    }
    text.append(chunk.data(), static_cast<size_t>(got));
    for (size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n')) {
      TakeLine(text.substr(0, end));
      text.erase(0, end + 1);
    }
    if (text.size() > kMostLineBytes) TakeLine(std::exchange(text, {}));
  }
  TakeLine(std::move(text));
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  const MutexLock lock(&mutex_);
  wait_status_ = status;
}

void WorkerProcess::TakeLine(std::string line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  line.resize(std::min(line.size(), kMostLineBytes));
  if (num_lines_ < kMostLines) LogInfo("model: {}", line);
  if (++num_lines_ == kMostLines) {
    LogWarning("model: it has printed {} lines; further ones are left out",
               kMostLines);
  }
  const MutexLock lock(&mutex_);
  last_line_ = std::move(line);
}

void WorkerProcess::Kill() {
  ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  thread_.Join();
}

bool WorkerProcess::has_exited() const {
  if (!ended_.HasBeenNotified()) return false;
  const MutexLock lock(&mutex_);
  return WIFEXITED(wait_status_);
}

std::string WorkerProcess::DescribeEnd() const {
  const MutexLock lock(&mutex_);
  const std::string end =
      WIFSIGNALED(wait_status_)
          ? absl::StrCat("was ended by signal ", WTERMSIG(wait_status_), ", ",
                         ::strsignal(WTERMSIG(wait_status_)))
          : absl::StrCat("ended with exit code ", WEXITSTATUS(wait_status_));
  return last_line_.empty() ? end : absl::StrCat(end, ": ", last_line_);
}

}  // namespace fgnn
