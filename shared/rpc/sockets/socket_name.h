// A Unix socket's name in the file system.
#ifndef FGNN_SHARED_RPC_SOCKETS_SOCKET_NAME_H_
#define FGNN_SHARED_RPC_SOCKETS_SOCKET_NAME_H_

#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Connections that wait at a listener until it accepts them.
inline constexpr int kBacklog = 1024;

// The users who may connect to a socket.
struct SocketAccess {
  mode_t mode = 0600;
  // Group of the socket's file; nullopt: the group of this process.
  std::optional<gid_t> group = std::nullopt;
};

// InvalidArgument if the path does not fit into a socket address.
absl::StatusOr<sockaddr_un> MakeSocketAddress(
    const std::filesystem::path& path);

// Claims a name so that no client ever sees a socket there with wrong access.
// Listen() makes the socket in a folder that only this user can enter.
// Publish() sets group and mode and moves the socket to its name. The
// destructor removes both; the name only while it is still this socket's.
// Movable.
class SocketName {
 public:
  // AlreadyExists: a server listens there. A dead server's socket is replaced.
  // FailedPrecondition: something else is there.
  static absl::StatusOr<SocketName> Claim(const std::filesystem::path& path);
  // Removes what servers left in `folder` that were killed between Claim() and
  // Publish(). Call it when no server is between the two. Follows no link, and
  // removes only sockets and empty folders.
  static void RemoveUnpublished(const std::filesystem::path& folder);
  SocketName(SocketName&& other) noexcept;
  SocketName& operator=(SocketName&& other) noexcept;
  ~SocketName();

  const std::filesystem::path& path() const { return path_; }
  // Returns a socket of this type (SOCK_STREAM, SOCK_SEQPACKET) that listens
  // and does not block. Clients find it after Publish(). Call it once.
  absl::StatusOr<UniqueFd> Listen(int type, int backlog) const;
  // Sets group and mode, and moves the socket to its name. Call it after
  // Listen() and before the first client. PermissionDenied: the user of this
  // process is not in the group.
  absl::Status Publish(const SocketAccess& access);
  // Removes the socket and its private folder, as far as they exist.
  // Idempotent.
  void Remove();

 private:
  SocketName(std::filesystem::path path, std::filesystem::path bind_path)
      : path_(std::move(path)), bind_path_(std::move(bind_path)) {}
  std::filesystem::path path_;
  std::filesystem::path bind_path_;  // Empty once published or removed.
  dev_t device_ = 0;  // Device and inode of the published socket.
  ino_t inode_ = 0;   // 0: not published.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_SOCKET_NAME_H_
