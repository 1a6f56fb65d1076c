#include "shared/rpc/sockets/local_listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kUsualGroups = 64;

absl::Status CannotTell() {
  return ErrnoToStatus(errno, "ask the kernel who has connected");
}

}  // namespace

absl::StatusOr<Peer> PeerOf(int fd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return CannotTell();
  }
  Peer peer = {.pid = credentials.pid, .uid = credentials.uid};
  peer.groups.resize(kUsualGroups);
  const auto read_groups = [&] {
    size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(),
                        &size) == 0;
  };
  if (!read_groups()) {
    if (errno != ERANGE) return CannotTell();
    peer.groups.resize(size / sizeof(gid_t));  // As many as there are.
    if (!read_groups()) return CannotTell();
  }
  peer.groups.resize(size / sizeof(gid_t));
  peer.groups.push_back(credentials.gid);
  return peer;
}

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Start(
    const std::filesystem::path& socket_path, const SocketAccess& access,
    OnConnection on_connection) {
  FGNN_ASSIGN_OR_RETURN(SocketName name, SocketName::Claim(socket_path));
  FGNN_ASSIGN_OR_RETURN(UniqueFd socket, name.Listen(SOCK_STREAM, kBacklog));
  FGNN_RETURN_IF_ERROR(name.Publish(access));
  std::unique_ptr<LocalListener> listener(new LocalListener(std::move(name)));
  FGNN_ASSIGN_OR_RETURN(
      listener->loop_,
      AcceptLoop::Start(
          socket_path.string(), std::move(socket),
          [on_connection = std::move(on_connection)](UniqueFd connection) {
            const absl::StatusOr<Peer> peer = PeerOf(connection.get());
            if (!peer.ok()) {
              LogWarning("{}", MessageOf(peer.status()));
              return;
            }
            on_connection(std::move(connection), *peer);
          }));
  return listener;
}

LocalListener::~LocalListener() {
  // Removes the name first, so that a new client sees at once that no server is
  // there.
  name_.Remove();
}

}  // namespace fgnn
