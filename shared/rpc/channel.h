// A gRPC channel to a Unix socket.
#ifndef FGNN_SHARED_RPC_CHANNEL_H_
#define FGNN_SHARED_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// Returns a channel that connects with the first call, and again after its
// server was restarted. InvalidArgument: the path is too long for a socket.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    const std::filesystem::path& socket_path);

// Waits until a server listens at `socket_path`. Unavailable, naming the path:
// none does at the deadline. PermissionDenied is returned at once.
absl::Status WaitForServer(const std::filesystem::path& socket_path,
                           Deadline deadline);

// Connects, and returns why the server's gRPC does not get to speak:
// ResourceExhausted, in the server's words, of one that serves no new
// connection now; the errors of connect(). OK: nothing speaks against it. Takes
// a moment.
absl::Status ExplainUnreachable(const std::filesystem::path& socket_path);

// Every call must have a deadline. gRPC's deadlines are wall-clock only inside
// the process; on the wire they are a duration.
void SetDeadline(grpc::ClientContext& context,
                 std::chrono::milliseconds timeout);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CHANNEL_H_
