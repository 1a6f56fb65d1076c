#include "scheduler/host/book/state_lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

std::string HolderOf(int fd) {
  char text[32];
  const ssize_t size = ::pread(fd, text, sizeof(text), 0);
  if (size <= 0) return "unknown";
  return std::string(
      absl::StripAsciiWhitespace(std::string(text, static_cast<size_t>(size))));
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Take(
    const std::filesystem::path& state_dir) {
  const std::filesystem::path path = LockPath(state_dir);
  // The descriptor is closed on exec: a daemon that outlives the scheduler must
  // not hold the lock.
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, OpenPrivateFile(path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return ErrnoToStatus(errno, absl::StrCat("lock ", path.string()));
    }
    return absl::AlreadyExistsError(
        absl::StrCat("another service (pid ", HolderOf(fd.get()), ") runs in ",
                     state_dir.string(),
                     "; stop it with 'fgnn down' or use another "
                     "--state-dir"));
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) !=
          static_cast<ssize_t>(pid.size())) {
    return ErrnoToStatus(errno, absl::StrCat("write ", path.string()));
  }
  return StateLock(std::move(fd), path);
}

bool StateLock::IsFolderGone() const {
  struct stat held = {};
  struct stat named = {};
  if (::fstat(fd_.get(), &held) != 0) return false;
  if (::stat(path_.c_str(), &named) == 0) {
    return held.st_dev != named.st_dev || held.st_ino != named.st_ino;
  }
  // The lock's file alone may have been deleted.
  return errno == ENOENT && ::stat(path_.parent_path().c_str(), &named) != 0 &&
         errno == ENOENT;
}

}  // namespace fgnn
