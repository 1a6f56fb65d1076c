#include "tools/dataset/reading/line_reader.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr unsigned kInflateBytes = 1U << 18;

// Reaps the child. Returns an error unless it exited with 0.
absl::Status WaitFor(pid_t child, const std::string& what) {
  int state = 0;
  while (::waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return ErrnoToStatus(errno, what);
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      WIFEXITED(state)
          ? absl::StrCat("'", what, "' failed with exit code ",
                         WEXITSTATUS(state), "; run it to see why")
          : absl::StrCat("'", what, "' was ended by signal ", WTERMSIG(state)));
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv, int stdout_fd,
                            const std::string& what) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1);
  // This program blocks signals, to remove unfinished files first. In the child
  // they must end the program at once.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, pointers[0], &actions, &attributes,
                                   pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoToStatus(error, absl::StrCat("run '", what, "'"));
  return child;
}

}  // namespace

struct LineReader::Input {
  Input(std::string what_in, gzFile file_in, pid_t child_in, uint64_t bytes)
      : what(std::move(what_in)),
        file(file_in),
        child(child_in),
        bytes_in_all(bytes),
        buffer(kBufferBytes) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    ::gzclose_r(file);
    if (child > 0) {
      ::kill(child, SIGKILL);
      // The child was killed on purpose, so its exit is no error.
      WaitFor(child, what).IgnoreError();
    }
  }

  // Makes room and reads more bytes.
  absl::Status Fill();
  absl::Status CheckEnd();

  std::string what;
  gzFile file;
  pid_t child;  // Process id; 0: none, or reaped.
  uint64_t bytes_in_all;
  std::vector<char> buffer;
  size_t begin = 0;  // Begin of the bytes that were not given out.
  size_t end = 0;
  size_t searched = 0;  // Bytes from `begin` that have no line end.
  bool at_end = false;
  uint64_t line_number = 0;
};

absl::Status LineReader::Input::CheckEnd() {
  int error = Z_OK;
  ::gzerror(file, &error);
  if (error == Z_BUF_ERROR) {
    return absl::DataLossError(
        absl::StrCat(what, ": the gzip file is truncated after line ",
                     line_number, "; fetch it again"));
  }
  if (child > 0) return WaitFor(std::exchange(child, 0), what);
  return absl::OkStatus();
}

absl::Status LineReader::Input::Fill() {
  if (begin > 0) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
  }
  if (end == buffer.size()) {
    if (buffer.size() >= kMaxLineBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ":", line_number + 1, ": line of more than ",
                       kMaxLineBytes, " bytes; is this a text file?"));
    }
    buffer.resize(buffer.size() * 2);
  }
  errno = 0;
  const int got = ::gzread(file, buffer.data() + end,
                           static_cast<unsigned>(buffer.size() - end));
  if (got < 0) {
    const int error_number = errno;
    int error = Z_OK;
    const char* reason = ::gzerror(file, &error);
    if (error == Z_ERRNO) return ErrnoToStatus(error_number, "read " + what);
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": damaged gzip file after line ", line_number, " (",
                     reason, "); fetch it again"));
  }
  if (got == 0) {
    at_end = true;
    return CheckEnd();
  }
  end += static_cast<size_t>(got);
  return absl::OkStatus();
}

absl::StatusOr<LineReader> LineReader::OpenFile(
    const std::filesystem::path& path) {
  const std::string what = path.string();
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat stat {};
  if (!fd.valid() || ::fstat(fd.get(), &stat) != 0) {
    return ErrnoToStatus(errno, "open " + what);
  }
  if (S_ISDIR(stat.st_mode)) return ErrnoToStatus(EISDIR, "open " + what);
  gzFile file = ::gzdopen(fd.get(), "rb");
  if (file == nullptr) return ErrnoToStatus(ENOMEM, "open " + what);
  fd.Release();  // gzclose() closes it.
  ::gzbuffer(file, kInflateBytes);
  return LineReader(std::make_unique<Input>(
      what, file, 0,
      S_ISREG(stat.st_mode) ? static_cast<uint64_t>(stat.st_size) : 0));
}

absl::StatusOr<LineReader> LineReader::OpenCommand(
    const std::vector<std::string>& argv) {
  const std::string what = absl::StrJoin(argv, " ");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("run '", what, "'"));
  }
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  FGNN_ASSIGN_OR_RETURN(const pid_t child, Spawn(argv, to.get(), what));
  to.Reset();
  gzFile file = ::gzdopen(from.get(), "rb");
  if (file == nullptr) {
    ::kill(child, SIGKILL);
    WaitFor(child, what).IgnoreError();  // The error below has the reason.
    return ErrnoToStatus(ENOMEM, absl::StrCat("run '", what, "'"));
  }
  from.Release();
  return LineReader(std::make_unique<Input>(what, file, child, 0));
}

LineReader::LineReader(std::unique_ptr<Input> input)
    : input_(std::move(input)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

absl::StatusOr<bool> LineReader::Next(std::string_view* line) {
  Input& in = *input_;
  for (;;) {
    const char* start = in.buffer.data() + in.begin;
    const size_t size = in.end - in.begin;
    const auto* newline = static_cast<const char*>(
        std::memchr(start + in.searched, '\n', size - in.searched));
    if (newline == nullptr && !in.at_end) {
      in.searched = size;
      FGNN_RETURN_IF_ERROR(in.Fill());
      continue;
    }
    if (newline == nullptr && size == 0) return false;
    size_t length =
        newline == nullptr ? size : static_cast<size_t>(newline - start);
    in.begin += newline == nullptr ? length : length + 1;
    in.searched = 0;
    if (length > 0 && start[length - 1] == '\r') --length;
    *line = std::string_view(start, length);
    if (in.line_number == 0 && (line->substr(0, 2) == "\xFF\xFE" ||
                                line->substr(0, 2) == "\xFE\xFF")) {
      return absl::InvalidArgumentError(
          absl::StrCat(in.what, ": is UTF-16 text; save it as UTF-8"));
    }
    // Editors on Windows begin UTF-8 files with these three bytes.
    if (in.line_number == 0 && line->substr(0, 3) == "\xEF\xBB\xBF") {
      line->remove_prefix(3);
    }
    ++in.line_number;
    return true;
  }
}

uint64_t LineReader::line_number() const { return input_->line_number; }

std::string LineReader::Place() const {
  return absl::StrCat(input_->what, ":", input_->line_number);
}

std::string LineReader::Line() const {
  return absl::StrCat("line ", input_->line_number);
}

const std::string& LineReader::what() const { return input_->what; }

uint64_t LineReader::bytes_done() const {
  const z_off_t offset = ::gzoffset(input_->file);
  return offset > 0 ? static_cast<uint64_t>(offset) : 0;
}

uint64_t LineReader::bytes_in_all() const { return input_->bytes_in_all; }

}  // namespace fgnn
