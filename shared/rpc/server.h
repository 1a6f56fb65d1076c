// A gRPC server on a Unix socket of mode 0660.
#ifndef FGNN_SHARED_RPC_SERVER_H_
#define FGNN_SHARED_RPC_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/rpc/socket_name.h"
#include "shared/rpc/status.h"

namespace fgnn {

// The most bytes of one message, both ways. Anything larger than a job and its
// state does not belong on the control path.
inline constexpr int kMaxMessageBytes = 1 << 20;

class RpcServer {
 public:
  // Serves `services`, borrowed until after Shutdown(), on a new socket at
  // `socket_path`. A socket file whose server died is replaced.
  // AlreadyExists: somebody serves there. InvalidArgument: the path is too
  // long. PermissionDenied, NotFound: its folder.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::filesystem::path& socket_path,
      const std::vector<grpc::Service*>& services);
  // Shuts down without grace.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Refuses new calls, gives those under way `grace` before it cancels them,
  // returns once every handler has returned; removes the socket. Idempotent.
  // Never called from a handler, which it would wait for.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  RpcServer(SocketName name, std::unique_ptr<grpc::Server> server);
  SocketName name_;
  std::unique_ptr<grpc::Server> server_;
};

// InvalidArgument for a call without a deadline: a client that waits for ever
// is a client that hangs. A longer one than an hour counts as none.
absl::Status RequireDeadline(const grpc::ServerContext& context);

// The body of every handler: refuses a call without a deadline, runs
// `handler`, which returns absl::Status, and says the same in gRPC's words.
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
