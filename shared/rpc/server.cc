#include "shared/rpc/server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/rpc/grpc_address.h"

namespace fgnn {
namespace {

// Pollers plus calls at once: a watching client holds one for as long as it
// watches. Beyond it calls are answered with RESOURCE_EXHAUSTED.
constexpr int kMaxThreads = 64;
constexpr size_t kMaxBufferBytes = 64 << 20;
constexpr std::chrono::hours kLongestDeadline{1};

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::filesystem::path& socket_path,
    const std::vector<grpc::Service*>& services) {
  RouteGrpcLog();
  FGNN_ASSIGN_OR_RETURN(SocketName name, SocketName::Claim(socket_path));
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(kMaxBufferBytes);
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(kMaxMessageBytes)
      .SetMaxSendMessageSize(kMaxMessageBytes)
      .SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2)
      .AddListeningPort(GrpcAddress(name.bind_path()),
                        grpc::InsecureServerCredentials());
  // No keepalive: the kernel closes a dead peer's local socket, and a call to
  // one that hangs ends at its deadline.
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve on ", socket_path.string(),
                     "; is its folder on a file system with sockets?"));
  }
  FGNN_RETURN_IF_ERROR(name.Publish());
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(name), std::move(server)));
}

RpcServer::RpcServer(SocketName name, std::unique_ptr<grpc::Server> server)
    : name_(std::move(name)), server_(std::move(server)) {}

RpcServer::~RpcServer() { Shutdown(std::chrono::milliseconds(0)); }

void RpcServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  // First the name, so that a new client sees at once that nobody is there.
  name_.Remove();
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_.reset();
}

absl::Status RequireDeadline(const grpc::ServerContext& context) {
  const auto now = std::chrono::system_clock::now();
  const auto deadline = context.deadline();
  // Not now + limit: that may overflow where there is no deadline.
  if (deadline <= now || deadline - now <= kLongestDeadline) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a call needs a deadline of at most an hour");
}

}  // namespace fgnn
