#include "shared/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/rpc/grpc_address.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    const std::filesystem::path& socket_path) {
  RouteGrpcLog();
  FGNN_RETURN_IF_ERROR(MakeSocketAddress(socket_path).status());
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // A local server is back within a second of its restart; gRPC's defaults wait
  // up to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this is the time in which a server that has accepted must
  // greet. A socket without a server is refused at once.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // Two channels of a process to one path must not share a back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(
      GrpcAddress(socket_path), grpc::InsecureChannelCredentials(), arguments);
}

absl::Status WaitForServer(const std::filesystem::path& socket_path,
                           Deadline deadline) {
  constexpr std::chrono::milliseconds kPause{20};
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address,
                        MakeSocketAddress(socket_path));
  const std::string what = absl::StrCat("connect to ", socket_path.string());
  while (true) {
    const UniqueFd fd(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return ErrnoToStatus(errno, what);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)) == 0) {
      return absl::OkStatus();
    }
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN) {
      return ErrnoToStatus(errno, what);
    }
    if (MonotonicClock::now() + kPause > deadline) {
      return absl::UnavailableError(
          absl::StrCat("no service answers on ", socket_path.string()));
    }
    // The kernel does not report when a missing socket appears, so the loop
    // polls.
    std::this_thread::sleep_for(kPause);
  }
}

void SetDeadline(grpc::ClientContext& context,
                 std::chrono::milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace fgnn
