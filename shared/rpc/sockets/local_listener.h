// Accepts connections on a Unix socket, and asks the kernel which user each
// belongs to.
//
// gRPC's own listener does not name the user. Once the process has run out of
// descriptors, it never accepts again. This listener goes on.
#ifndef FGNN_SHARED_RPC_SOCKETS_LOCAL_LISTENER_H_
#define FGNN_SHARED_RPC_SOCKETS_LOCAL_LISTENER_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/rpc/sockets/accept_loop.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {

// The process that connected, as the kernel recorded it then.
struct Peer {
  pid_t pid = 0;  // Process id; 0: the process is in another PID namespace.
  uid_t uid = 0;
  std::vector<gid_t> groups = {};  // All of its groups.
};

// Returns the peer of a connected Unix socket. Internal: `fd` is no such
// socket.
absl::StatusOr<Peer> PeerOf(int fd);

class LocalListener {
 public:
  // Called on the listener's thread with a nonblocking connection. Must not
  // block: the next connection waits for it.
  using OnConnection = std::function<void(UniqueFd connection, Peer peer)>;

  // Listens on a new socket at `socket_path`. Errors: those of
  // RpcServer::Start().
  static absl::StatusOr<std::unique_ptr<LocalListener>> Start(
      const std::filesystem::path& socket_path, const SocketAccess& access,
      OnConnection on_connection);
  // Removes the socket's name, then stops the thread.
  ~LocalListener();
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;

 private:
  explicit LocalListener(SocketName name) : name_(std::move(name)) {}

  SocketName name_;
  std::unique_ptr<AcceptLoop> loop_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_LOCAL_LISTENER_H_
