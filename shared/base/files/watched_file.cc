#include "shared/base/files/watched_file.h"

#include <cerrno>

#include "shared/base/status.h"

namespace fgnn {
namespace {

bool IsSame(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_dev == other.st_dev &&
         one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec &&
         one.st_ctim.tv_sec == other.st_ctim.tv_sec &&
         one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

}  // namespace

absl::StatusOr<bool> WatchedFile::HasChanged() {
  struct stat info;
  if (::stat(path_.c_str(), &info) != 0) {
    seen_.reset();
    return ErrnoToStatus(errno, path_.string());
  }
  if (seen_.has_value() && IsSame(*seen_, info)) return false;
  seen_ = info;
  return true;
}

}  // namespace fgnn
