// A gRPC server on a Unix socket. It knows the caller's user from the kernel.
//
//   connection ─▶ LocalListener: SO_PEERCRED ─▶ the gRPC server of that user
//
// Each user has a gRPC server of its own, so the server that serves a caller
// tells the caller's user. No call can claim another name. One user's calls
// take no thread, message buffer or connection of another's.
#ifndef FGNN_SHARED_RPC_SERVER_H_
#define FGNN_SHARED_RPC_SERVER_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/executors/call_limits.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/connection_peers.h"
#include "shared/rpc/sockets/local_listener.h"
#include "shared/rpc/sockets/open_connections.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/line_limit.h"

namespace fgnn {

// The most connections at once. A limit on descriptors lowers both fields.
struct ConnectionLimits {
  size_t per_user = 1'024;
  size_t in_all = 4'096;
};

class RpcServer {
 public:
  using Services = fgnn::Services;
  // Makes the services of one user's server. Called on the listener's thread,
  // or by Start(). `peers` knows the processes of that user that call, and
  // lives as long as the services.
  using MakeServices =
      std::function<Services(uid_t user, const ConnectionPeers& peers)>;
  // Takes the connection of a client. Returns the connection on which gRPC is
  // to serve that client. `key`: KeyOfUser() of the client. Called on the
  // listener's thread.
  using Gate = std::function<absl::StatusOr<UniqueFd>(UniqueFd client,
                                                      const std::string& key)>;

  // Serves processes of this process's user, and of root, on a new socket of
  // mode 0600. `services` are borrowed until after Shutdown(). The socket file
  // of a server that died is replaced.
  // AlreadyExists: a server runs there. InvalidArgument: the path is too long.
  // PermissionDenied, NotFound: its folder.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::filesystem::path& socket_path,
      std::vector<grpc::Service*> services);
  // Serves each user that may open the socket, whose mode is 0660. Its group is
  // `group`, or that of this process. Errors as above. With a gate, gRPC reads
  // no byte that a client has sent.
  static absl::StatusOr<std::unique_ptr<RpcServer>> StartForUsers(
      const std::filesystem::path& socket_path, MakeServices make_services,
      ConnectionLimits limits = {}, std::optional<gid_t> group = std::nullopt,
      Gate gate = nullptr);
  // Shuts down without grace.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Refuses new calls, and cancels running calls after `grace`. Returns once
  // every handler has returned, and removes the socket. Idempotent. A handler
  // must not call it, as it waits for handlers.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  class RefusingService;
  struct UserServer {
    std::unique_ptr<ConnectionPeers> peers =
        std::make_unique<ConnectionPeers>();
    Services services;
    // Declared after its services, so that it ends before them.
    std::unique_ptr<grpc::Server> server;
    OpenConnections connections;
  };

  RpcServer(std::string name, MakeServices make_services,
            ConnectionLimits limits);
  absl::Status Listen(const std::filesystem::path& socket_path,
                      const SocketAccess& access);
  absl::StatusOr<UserServer> MakeServer(
      Services services, const std::vector<grpc::Service*>& borrowed) const;
  void Serve(UniqueFd connection, Peer peer);
  absl::Status ServeLocked(UniqueFd& connection, const Peer& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefuseLocked(UniqueFd connection, const Peer& peer,
                    const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false if the gate has closed the connection.
  bool HandOver(UniqueFd connection, const Peer& peer, UserServer& server);
  absl::StatusOr<UserServer*> ServerOfLocked(uid_t user)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes room for one more connection. ResourceExhausted: there is none.
  absl::Status CheckRoomLocked(UserServer& server, uid_t user)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;  // The socket's path, for messages.
  const MakeServices make_services_;
  const ConnectionLimits limits_;
  // Processes of this process's user and of root share one server; processes of
  // other users are not served.
  bool for_owner_ = false;
  Gate gate_;        // Empty: clients are this service's own processes.
  LineLimit limit_;  // Limit of lines about connections that were closed.
  Mutex mutex_;
  // Serves clients for which there is no room. nullptr: there was none yet.
  RefusingService* refusing_service_ ABSL_GUARDED_BY(mutex_) = nullptr;
  UserServer refusing_ ABSL_GUARDED_BY(mutex_);
  std::map<uid_t, UserServer> servers_ ABSL_GUARDED_BY(mutex_);
  size_t num_connections_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last member: it uses the members above.
  std::unique_ptr<LocalListener> listener_;
};

// Returns the key of a local user's connections, as a gate gets it.
std::string KeyOfUser(uid_t user);

// InvalidArgument for a call without a deadline, as its client could hang for
// ever. A deadline of more than an hour counts as none.
absl::Status CheckDeadline(std::chrono::system_clock::time_point deadline);
inline absl::Status RequireDeadline(const grpc::ServerContext& context) {
  return CheckDeadline(context.deadline());
}

// Returns the limits of a call. They borrow `context`.
CallLimits LimitsOf(const grpc::ServerContext& context);

// Returns the process that calls, as the kernel recorded it at the connect.
// PermissionDenied: the kernel cannot tell.
absl::StatusOr<Peer> CallingProcess(const grpc::ServerContext& context);

// The body of every handler. Refuses a call without a deadline, runs `handler`,
// which returns absl::Status, and converts that status to gRPC's.
//
//   return ServeCall(*context, [&] { return jobs_->Cancel(...); });
template <typename Handler>
grpc::Status ServeCall(const grpc::ServerContext& context, Handler&& handler) {
  if (absl::Status status = RequireDeadline(context); !status.ok()) {
    return ToGrpc(status);
  }
  return ToGrpc(std::forward<Handler>(handler)());
}

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SERVER_H_
