#include "shared/graph/book/making/own_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/device/memory_kills.h"

namespace fgnn {
namespace {

constexpr int kTickMs = 1000;

// What the child writes: a stage, or its result. `bytes` of text follow.
struct MessageHeader {
  uint32_t is_result;
  int32_t code;  // absl::StatusCode of a result.
  uint64_t bytes;
};

// A parent that does not read any more is dead, and so is this child soon.
void WriteAll(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

void Send(int fd, bool is_result, absl::StatusCode code,
          std::string_view text) {
  const MessageHeader header = {is_result ? 1U : 0U, static_cast<int>(code),
                                text.size()};
  WriteAll(fd, &header, sizeof(header));
  WriteAll(fd, text.data(), text.size());
}

// Opens a file of the system, for which a failure does no harm.
UniqueFd OpenForWriting(const char* path) {
  return UniqueFd(::open(path, O_WRONLY | O_CLOEXEC));
}

[[noreturn]] void RunChild(
    pid_t parent, int out,
    absl::FunctionRef<absl::StatusOr<std::string>(StageCallback)>
        body) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const UniqueFd score = OpenForWriting("/proc/self/oom_score_adj");
  [[maybe_unused]] const ssize_t ignored = ::write(score.get(), "1000", 4);
  const UniqueFd nowhere = OpenForWriting("/dev/null");
  ::dup2(nowhere.get(), STDOUT_FILENO);
  ::dup2(nowhere.get(), STDERR_FILENO);
  absl::StatusOr<std::string> result = absl::ResourceExhaustedError("");
  try {
    result = body([out](std::string_view stage) {
      Send(out, /*is_result=*/false, absl::StatusCode::kOk, stage);
      return absl::OkStatus();
    });
  } catch (const std::bad_alloc&) {
    // The empty error.
  }
  Send(out, /*is_result=*/true, result.status().code(),
       result.ok() ? *result : MessageOf(result.status()));
  ::_exit(0);
}

// Reads messages until the child has written its result or is dead. Calls
// `stage` meanwhile.
class ChildReader {
 public:
  ChildReader(UniqueFd in, StageCallback stage)
      : in_(std::move(in)), stage_(stage) {}

  // Returns the result; Unavailable: the child is dead, or `stage` has ended
  // the work.
  absl::StatusOr<std::string> ReadResult() {
    MessageHeader header = {};
    std::string text;
    while (Read(&header, sizeof(header))) {
      text.resize(header.bytes);
      if (!Read(text.data(), text.size())) break;
      if (header.is_result == 0) {
        name_ = text;
        if (!MayGoOn()) break;
      } else if (header.code == 0) {
        return text;
      } else {
        return absl::Status(static_cast<absl::StatusCode>(header.code), text);
      }
    }
    return absl::UnavailableError("");
  }
  // Returns the error of `stage`, if it has returned one.
  const absl::Status& stopped() const { return stopped_; }

 private:
  bool MayGoOn() {
    stopped_ = stage_(name_);
    return stopped_.ok();
  }

  // Waits as long as the child lives. Returns false if it is dead, or if
  // `stage` has ended the work.
  bool Read(void* data, size_t bytes) {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
      pollfd event = {in_.get(), POLLIN, 0};
      if (::poll(&event, 1, kTickMs) == 0 && !name_.empty() && !MayGoOn()) {
        return false;
      }
      if (event.revents == 0) continue;
      const ssize_t got = ::read(in_.get(), at, bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }

  UniqueFd in_;
  StageCallback stage_;
  std::string name_;
  absl::Status stopped_;
};

}  // namespace

absl::StatusOr<std::string> RunInOwnProcess(
    std::string_view what, std::string_view advice, StageCallback stage,
    absl::FunctionRef<absl::StatusOr<std::string>(StageCallback)> body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "make a pipe");
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const MemoryKills kills;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return ErrnoToStatus(errno, "start a process");
  if (child == 0) RunChild(parent, out.get(), body);
  out.Reset();
  ChildReader reader(std::move(in), stage);
  absl::StatusOr<std::string> result = reader.ReadResult();
  if (!reader.stopped().ok()) ::kill(child, SIGKILL);
  int state = 0;
  rusage use = {};
  while (::wait4(child, &state, 0, &use) < 0 && errno == EINTR) {
  }
  FGNN_RETURN_IF_ERROR(reader.stopped());
  if (result.ok() || !result.status().message().empty()) return result;
  std::string reason = "ran out of memory";
  if (absl::IsUnavailable(result.status())) {
    const int signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    reason =
        absl::StrCat("was ended by signal ", signal, ", ", ::strsignal(signal));
    if (signal == SIGKILL && kills.HasKilled()) {
      absl::StrAppend(
          &reason, ", ",
          kills.Describe(static_cast<uint64_t>(use.ru_maxrss) * 1024));
    }
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(std::string(what), " ", reason, "; ", std::string(advice)));
}

}  // namespace fgnn
