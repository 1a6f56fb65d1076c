#include "scheduler/files/access/user_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // The kernel's own limit.
// Tries to make a folder, while others make and remove folders there.
constexpr int kMaxOpenAttempts = 3;
constexpr mode_t kFolderMode = 0777;

// One lookup, folder by folder.
class Lookup {
 public:
  Lookup(const FileUser& user, const fs::path& path)
      : user_(user), asked_(path), rest_(path.begin(), path.end()) {}

  absl::StatusOr<FoundPath> Run() {
    FGNN_RETURN_IF_ERROR(Enter(AT_FDCWD, "/", "/"));
    while (!rest_.empty()) {
      fs::path part = std::move(rest_.front());
      rest_.pop_front();
      if (part.empty() || part == "/") continue;
      // A file has nothing below it.
      const bool is_folder = S_ISDIR(found_.info.st_mode);
      if (is_folder) {
        FGNN_ASSIGN_OR_RETURN(const bool may, Has(user_, found_, kMayEnter));
        found_.is_closed = !may;
        if (!may) return std::move(found_);
        if (part == ".") continue;
        const absl::Status entered = Enter(
            found_.place.get(), part,
            part == ".." ? found_.name.parent_path() : found_.name / part);
        if (entered.ok()) continue;
        if (!absl::IsNotFound(entered)) return entered;
      }
      found_.missing = part;
      for (const fs::path& more : rest_) found_.missing /= more;
      return std::move(found_);
    }
    return std::move(found_);
  }

 private:
  // Goes on to what has this name in a folder.
  absl::Status Enter(int folder, const fs::path& part, fs::path name) {
    UniqueFd next(
        ::openat(folder, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!next.valid() || ::fstat(next.get(), &info) != 0) {
      return ErrnoToStatus(errno, asked_.string());
    }
    if (S_ISLNK(info.st_mode)) return FollowLink(next.get(), info.st_uid);
    found_.place = std::move(next);
    found_.info = info;
    found_.name = std::move(name);
    return absl::OkStatus();
  }

  absl::Status FollowLink(int link, uid_t owner) {
    if (++num_links_ > kMaxLinks) return ErrnoToStatus(ELOOP, asked_.string());
    // As the kernel does (protected_symlinks): in a folder like /tmp, a link
    // may be a trap of another user.
    constexpr mode_t kShared = S_ISVTX | S_IWOTH;
    if (!IsTrusted(user_) && (found_.info.st_mode & kShared) == kShared &&
        user_.uid != owner && found_.info.st_uid != owner) {
      return ErrnoToStatus(EACCES, asked_.string());
    }
    char text[PATH_MAX];
    const ssize_t size = ::readlinkat(link, "", text, sizeof(text));
    if (size < 0) return ErrnoToStatus(errno, asked_.string());
    const fs::path target(std::string(text, static_cast<size_t>(size)));
    rest_.insert(rest_.begin(), target.begin(), target.end());
    return target.is_absolute() ? Enter(AT_FDCWD, "/", "/") : absl::OkStatus();
  }

  const FileUser& user_;
  const fs::path asked_;
  std::deque<fs::path> rest_;
  int num_links_ = 0;
  FoundPath found_;
};

// A parent that may be written but not read cannot be synced.
absl::Status SyncIfReadable(const fs::path& folder) {
  const absl::Status synced = SyncFolder(folder);
  return absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
}

// Returns whether the folder may be one that this process has just made.
// Another one may have taken its name since.
bool IsNew(const FoundPath& folder) {
  std::error_code error;
  return folder.info.st_uid == ::geteuid() &&
         fs::is_empty(folder.path(), error) && !error;
}

// Makes the folders of `missing`, each in the one before, and returns the last
// one. AlreadyExists: another process has put one there meanwhile.
absl::StatusOr<FoundPath> MakeMissing(FoundPath found, const fs::path& path) {
  const std::string what = absl::StrCat("make ", path.string());
  for (const fs::path& part : std::exchange(found.missing, fs::path())) {
    if (::mkdirat(found.place.get(), part.c_str(), kFolderMode) != 0) {
      return ErrnoToStatus(errno, what);
    }
    FGNN_RETURN_IF_ERROR(SyncIfReadable(found.path()));
    UniqueFd next(::openat(found.place.get(), part.c_str(),
                           O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid() || ::fstat(next.get(), &found.info) != 0) {
      return ErrnoToStatus(errno, what);
    }
    found.place = std::move(next);
    found.name /= part;
    if (!IsNew(found)) {
      return absl::AlreadyExistsError(
          absl::StrCat(what, ": another folder was put there meanwhile"));
    }
  }
  return found;
}

}  // namespace

fs::path FoundPath::path() const {
  return absl::StrCat("/proc/self/fd/", place.get());
}

absl::StatusOr<bool> Has(const FileUser& user, const FoundPath& found,
                         unsigned wanted) {
  if (IsTrusted(user)) return true;
  return MayAccess(user, found.path(), wanted);
}

absl::StatusOr<FoundPath> FindAs(const FileUser& user, const fs::path& path) {
  if (!path.is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path.string(), "' is not an absolute path"));
  }
  return Lookup(user, path).Run();
}

absl::StatusOr<FoundPath> FindAsService(const fs::path& path) {
  return FindAs(ServiceUser(), path);
}

absl::StatusOr<FoundPath> FindOrMakeFolder(const fs::path& path,
                                           FindFolder find) {
  absl::StatusOr<FoundPath> made;
  for (int attempt = 0; attempt < kMaxOpenAttempts; ++attempt) {
    FGNN_ASSIGN_OR_RETURN(FoundPath found, find(path));
    if (found.missing.empty()) return found;
    made = MakeMissing(std::move(found), path);
    if (!absl::IsAlreadyExists(made.status())) return made;
  }
  return made;
}

absl::Status ClosedTo(const FileUser& user, const std::string& what,
                      const std::string& doing, const fs::path& folder) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, ": ",
                   user.uid.has_value() ? UserName(*user.uid)
                                        : "a user who gets what everybody may",
                   " may not ", doing, " ", folder.string()));
}

}  // namespace fgnn
