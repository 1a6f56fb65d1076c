#include "shared/base/files/guarded_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"

namespace fgnn {

namespace fs = std::filesystem;

namespace {

absl::Status IsAnother(const fs::path& name) {
  return absl::FailedPreconditionError(absl::StrCat(
      name.string(),
      " is not the folder that was here: it, or one above it, was moved or "
      "replaced; put it back"));
}

}  // namespace

absl::Status CheckGuarded(const fs::path& path, const struct stat& info,
                          GuardedOwner owner) {
  const uid_t user = ::geteuid();
  const bool is_owner_fine =
      info.st_uid == user ||
      (owner == GuardedOwner::kThisUserOrRoot && info.st_uid == 0);
  if (!is_owner_fine) {
    return absl::PermissionDeniedError(absl::StrCat(
        path.string(), " belongs to ", UserName(info.st_uid), ", not to ",
        UserName(user), ", as whom this process runs; 'chown ", UserName(user),
        " ", path.string(), "' gives it to this user"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s has mode %04o: other users may change what is trusted here; 'chmod "
        "go-w %s' mends it",
        path.string(), info.st_mode & 07777, path.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenFolderItself(const fs::path& folder) {
  UniqueFd fd(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid()) return fd;
  if (errno == ELOOP || errno == ENOTDIR) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder.string(), " is a link or no folder; put a folder in its place"));
  }
  return ErrnoToStatus(errno, absl::StrCat("open folder ", folder.string()));
}

absl::StatusOr<HeldFolder> HeldFolder::Open(const fs::path& folder,
                                            fs::path name) {
  absl::StatusOr<UniqueFd> fd = OpenFolderItself(folder);
  if (name.empty()) name = folder;
  if (fd.ok()) return HeldFolder(std::move(name), *std::move(fd));
  return absl::Status(
      fd.status().code(),
      absl::StrReplaceAll(absl::string_view(fd.status().message()),
                          {{folder.string(), name.string()}}));
}

HeldFolder::HeldFolder(fs::path name, UniqueFd fd)
    : name_(std::move(name)), fd_(std::move(fd)) {}

fs::path HeldFolder::path() const {
  return absl::StrCat("/proc/self/fd/", fd_.get());
}

absl::StatusOr<FolderId> HeldFolder::Id() const {
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("look at ", name_.string()));
  }
  return FolderId{.device = info.st_dev, .inode = info.st_ino};
}

absl::Status HeldFolder::CheckIs(const FolderId& id) const {
  FGNN_ASSIGN_OR_RETURN(const FolderId own, Id());
  return own == id ? absl::OkStatus() : IsAnother(name_);
}

absl::Status HeldFolder::CheckName() const {
  struct stat named = {};
  if (::stat(name_.c_str(), &named) != 0) return IsAnother(name_);
  return CheckIs({.device = named.st_dev, .inode = named.st_ino});
}

absl::Status HeldFolder::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  const std::string shown = path().string();
  const std::string name = name_.string();
  return {status.code(),
          absl::StrReplaceAll(
              absl::string_view(status.message()),
              {{absl::StrCat(shown, "/"), absl::StrCat(name, "/")},
               {absl::StrCat(shown, ":"), absl::StrCat(name, ":")}})};
}

bool IsSocketIn(int folder, const std::string& name) {
  struct stat info;
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISSOCK(info.st_mode);
}

}  // namespace fgnn
