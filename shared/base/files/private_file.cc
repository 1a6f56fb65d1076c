#include "shared/base/files/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"

namespace fgnn {

absl::Status CheckPrivateFile(const std::filesystem::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  if (info.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path.string(), " is of user ", UserName(info.st_uid),
                     "; give it to this one: chown ", UserName(::geteuid()),
                     " ", path.string()));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("other users can read or write ", path.string(),
                     "; close it: chmod 600 ", path.string()));
  }
  return absl::OkStatus();
}

absl::Status CheckTrustedFile(const std::filesystem::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path.string(), " is of user ", UserName(info.st_uid),
                     ", who may change it; give it to this one: chown ",
                     UserName(::geteuid()), " ", path.string()));
  }
  if ((info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("other users can write ", path.string(),
                     "; close it: chmod go-w ", path.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenPrivateFile(const std::filesystem::path& path) {
  constexpr mode_t kMode = S_IRUSR | S_IWUSR;
  UniqueFd fd(
      ::open(path.c_str(),
             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
             kMode));
  struct stat file = {};
  if (!fd.valid() || ::fstat(fd.get(), &file) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("open ", path.string()));
  }
  if (!S_ISREG(file.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("open ", path.string(), ": not a plain file"));
  }
  // As a copy of it may be.
  const bool is_open = (file.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (is_open && file.st_uid == ::geteuid() && ::fchmod(fd.get(), kMode) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("close ", path.string()));
  }
  return fd;
}

}  // namespace fgnn
