// Accepts connections on a Unix socket and asks the kernel whose they are.
//
// gRPC's own listener cannot: it names no user, and once the process has run
// out of descriptors it never accepts again. This one goes on.
#ifndef FGNN_SHARED_RPC_LOCAL_LISTENER_H_
#define FGNN_SHARED_RPC_LOCAL_LISTENER_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "shared/base/thread.h"
#include "shared/base/unique_fd.h"
#include "shared/rpc/accept_connection.h"
#include "shared/rpc/socket_name.h"

namespace fgnn {

// The process that connected, as the kernel had it at that moment.
struct Peer {
  pid_t pid = 0;  // 0: the process is of another PID namespace.
  uid_t uid = 0;
};

// The peer of a connected Unix socket. Internal: `fd` is none.
absl::StatusOr<Peer> PeerOf(int fd);

class LocalListener {
 public:
  // Called on the listener's thread with a connection that does not block.
  // Must not block either: the next connection waits for it.
  using OnConnection = std::function<void(UniqueFd connection, Peer peer)>;

  // Listens on a new socket of `mode` at `socket_path`. Errors as those of
  // RpcServer::Start().
  static absl::StatusOr<std::unique_ptr<LocalListener>> Start(
      const std::filesystem::path& socket_path, mode_t mode,
      OnConnection on_connection);
  // Removes the socket's name, then stops the thread.
  ~LocalListener();
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;

 private:
  LocalListener(SocketName name, UniqueFd listener, UniqueFd stop,
                OnConnection on_connection);
  void Run();
  void AcceptAll();
  // Waits for `fd` to be readable. Returns true once the thread is to return.
  bool WaitFor(int fd, int milliseconds);

  SocketName name_;
  const UniqueFd listener_;
  const UniqueFd stop_;          // An eventfd: the thread is to return.
  ConnectionAcceptor acceptor_;  // For the thread alone.
  const OnConnection on_connection_;
  Thread thread_;  // Last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_LOCAL_LISTENER_H_
