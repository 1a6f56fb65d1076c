#include "shared/telemetry/bounded_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "shared/base/files/unique_fd.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Returns 0 or an error number.
int Rotate(const fs::path& log, const struct stat& now) {
  if (::rename(log.c_str(), PredecessorOf(log).c_str()) != 0) return errno;
  const UniqueFd next(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!next.valid()) {
    const int error = errno;
    // Moves the file back, so that the name is again that of the file that is
    // written to.
    ::rename(PredecessorOf(log).c_str(), log.c_str());
    return error;
  }
  struct stat info = {};
  const bool has_stdout =
      ::fstat(STDOUT_FILENO, &info) == 0 && IsSame(info, now);
  // Threads that write meanwhile write to one of the two files.
  if (::dup2(next.get(), STDERR_FILENO) < 0) return errno;
  if (has_stdout && ::dup2(next.get(), STDOUT_FILENO) < 0) return errno;
  return 0;
}

}  // namespace

fs::path PredecessorOf(const fs::path& log) { return log.string() + ".1"; }

BoundedLog::BoundedLog(fs::path log, uint64_t most_bytes)
    : log_(std::move(log)), most_bytes_(most_bytes) {}

void BoundedLog::RotateIfLarge() {
  struct stat written = {};
  struct stat named = {};
  if (::fstat(STDERR_FILENO, &written) != 0 || !S_ISREG(written.st_mode) ||
      static_cast<uint64_t>(written.st_size) <= most_bytes_ ||
      ::stat(log_.c_str(), &named) != 0 || !IsSame(written, named)) {
    return;
  }
  if (const int error = Rotate(log_, written); error == 0) {
    LogInfo("the log goes on here; what was before is in {}",
            PredecessorOf(log_).string());
  } else if (!std::exchange(has_failed_, true)) {
    LogError("the log {} cannot be rotated and grows: {}", log_.string(),
             std::strerror(error));
  }
}

}  // namespace fgnn
