#include "shared/rpc/sockets/socket_name.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderPrefix[] = ".s";  // Prefix of the private folder's name.
constexpr char kSocket[] = "s";  // Name of the socket in the private folder.

// Returns true if a server accepts on the socket, of whatever type, at `path`.
absl::StatusOr<bool> SomebodyListens(const fs::path& path) {
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address, MakeSocketAddress(path));
  const std::string what = absl::StrCat("look at socket ", path.string());
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const UniqueFd fd(
        ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return ErrnoToStatus(errno, what);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)) == 0 ||
        errno == EAGAIN) {  // EAGAIN: the server's backlog is full.
      return true;
    }
    if (errno == ENOENT) return false;
    if (errno != EPROTOTYPE && errno != ECONNREFUSED) {
      return ErrnoToStatus(errno, what);
    }
  }
  return false;
}

// Makes a folder beside `path` that only this user can enter.
absl::StatusOr<fs::path> MakePrivateFolder(const fs::path& path) {
  std::string folder =
      (path.parent_path() / absl::StrCat(kFolderPrefix, "XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return ErrnoToStatus(errno, absl::StrCat("make socket ", path.string()));
  }
  return fs::path(folder);
}

}  // namespace

absl::StatusOr<sockaddr_un> MakeSocketAddress(const fs::path& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.empty() || name.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket ", name, ": its name has ", name.size(),
                     " bytes of at most ", sizeof(address.sun_path) - 1,
                     "; choose a state folder with a shorter name"));
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  return address;
}

absl::StatusOr<SocketName> SocketName::Claim(const fs::path& path) {
  FGNN_RETURN_IF_ERROR(MakeSocketAddress(path).status());
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::FailedPreconditionError(
          absl::StrCat(path.string(), " is in the way of a socket; remove it"));
    }
    FGNN_ASSIGN_OR_RETURN(const bool in_use, SomebodyListens(path));
    if (in_use) {
      return absl::AlreadyExistsError(
          absl::StrCat("socket in use: ", path.string(),
                       "; another service runs in this state folder"));
    }
  }
  FGNN_ASSIGN_OR_RETURN(const fs::path folder, MakePrivateFolder(path));
  SocketName name(path, folder / kSocket);
  FGNN_RETURN_IF_ERROR(MakeSocketAddress(name.bind_path_).status());
  return name;
}

void SocketName::RemoveUnpublished(const fs::path& folder) {
  const absl::StatusOr<UniqueFd> outer = OpenFolderItself(folder);
  // A server that claims a name in this folder reports the error.
  if (!outer.ok()) return;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(kFolderPrefix)) continue;
    // Follows no link and removes only sockets: the name alone proves nothing.
    const UniqueFd inner(
        ::openat(outer->get(), name.c_str(),
                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner.valid()) continue;
    if (IsSocketIn(inner.get(), kSocket)) {
      ::unlinkat(inner.get(), kSocket, 0);
    }
    // Fails if something else is in the folder.
    ::unlinkat(outer->get(), name.c_str(), AT_REMOVEDIR);
  }
}

SocketName::SocketName(SocketName&& other) noexcept {
  *this = std::move(other);
}

SocketName& SocketName::operator=(SocketName&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  path_ = std::exchange(other.path_, fs::path());
  bind_path_ = std::exchange(other.bind_path_, fs::path());
  device_ = std::exchange(other.device_, 0);
  inode_ = std::exchange(other.inode_, 0);
  return *this;
}

SocketName::~SocketName() { Remove(); }

absl::StatusOr<UniqueFd> SocketName::Listen(int type, int backlog) const {
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address,
                        MakeSocketAddress(bind_path_));
  UniqueFd listener(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0 ||
      ::listen(listener.get(), backlog) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("listen on ", path_.string()));
  }
  return listener;
}

absl::Status SocketName::Publish(const SocketAccess& access) {
  struct stat info;
  if ((access.group.has_value() &&
       ::lchown(bind_path_.c_str(), static_cast<uid_t>(-1), *access.group) !=
           0) ||
      ::chmod(bind_path_.c_str(), access.mode) != 0 ||
      ::lstat(bind_path_.c_str(), &info) != 0 ||
      ::rename(bind_path_.c_str(), path_.c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("make socket ", path_.string()));
  }
  device_ = info.st_dev;
  inode_ = info.st_ino;
  // Removed at once, so that a killed server leaves no folder behind.
  ::rmdir(bind_path_.parent_path().c_str());
  bind_path_.clear();
  return absl::OkStatus();
}

void SocketName::Remove() {
  if (!bind_path_.empty()) {
    ::unlink(bind_path_.c_str());
    ::rmdir(bind_path_.parent_path().c_str());
    bind_path_.clear();
  }
  struct stat info;
  // The name is removed only if it is still this socket's: a successor may have
  // put its own there.
  if (inode_ != 0 && ::lstat(path_.c_str(), &info) == 0 &&
      info.st_dev == device_ && info.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  inode_ = 0;
}

}  // namespace fgnn
