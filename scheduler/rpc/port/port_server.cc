#include "scheduler/rpc/port/port_server.h"

#include <grpcpp/resource_quota.h>

#include "absl/strings/str_cat.h"
#include "scheduler/rpc/port/server_credentials.h"
#include "shared/base/status.h"
#include "shared/rpc/build_server.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMaxBufferBytes = 64 << 20;
constexpr int kMaxStreams = 64;  // Calls at once on one connection.
constexpr int kMaxMetadataBytes = 16 << 10;
// Milliseconds for TLS and for the greeting of HTTP/2.
constexpr int kHandshakeMs = 10'000;
// Milliseconds after which a connection without a call is closed; its client
// connects again.
constexpr int kMaxIdleMs = 2 * 60 * 1'000;
// A peer that is silent for so long, in milliseconds, is asked whether it is
// there, and has the second time to answer.
constexpr int kAskAfterMs = 60'000;
constexpr int kAnswerWithinMs = 20'000;
// A client that asks more often is cut off.
constexpr int kLeastPingMs = 20'000;

}  // namespace

PortServer::PortServer(const PortOptions& options,
                       std::unique_ptr<Authenticator> authenticator,
                       RemoteUsers::MakeServices make_services,
                       RefusalCounts* refusals)
    : limits_(options.limits),
      authenticator_(std::move(authenticator)),
      log_(refusals),
      users_(std::move(make_services)),
      proxy_(authenticator_.get(), &users_, &log_) {}

absl::StatusOr<std::unique_ptr<PortServer>> PortServer::Start(
    const PortOptions& options, RemoteUsers::MakeServices make_services,
    RefusalCounts* refusals) {
  FGNN_ASSIGN_OR_RETURN(auto authenticator, Authenticator::Open(options));
  std::unique_ptr<PortServer> made(new PortServer(
      options, std::move(authenticator), std::move(make_services), refusals));
  FGNN_RETURN_IF_ERROR(made->StartServer(options));
  FGNN_RETURN_IF_ERROR(made->Listen(options.address));
  LogInfo("listening on {}, {}", made->address().Text(),
          options.tls_dir.empty() ? "in the clear" : "with TLS");
  return made;
}

absl::Status PortServer::StartServer(const PortOptions& options) {
  FGNN_ASSIGN_OR_RETURN(auto credentials,
                        MakeServerCredentials(options.tls_dir));
  grpc::ResourceQuota quota;
  quota.Resize(kMaxBufferBytes);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&proxy_)
      .SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(kMaxMessageBytes)
      .SetMaxSendMessageSize(kMaxMessageBytes)
      .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams)
      .AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes)
      .AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs)
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs)
      .AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAskAfterMs)
      .AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerWithinMs)
      .AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                          kLeastPingMs);
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError("cannot start a server for the port");
}

absl::Status PortServer::Listen(const HostPort& address) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd socket, ListenOn(address));
  FGNN_ASSIGN_OR_RETURN(address_, BoundAddress(socket.get()));
  FGNN_ASSIGN_OR_RETURN(loop_,
                        AcceptLoop::Start(address_.Text(), std::move(socket),
                                          [this](UniqueFd connection) {
                                            Serve(std::move(connection));
                                          }));
  return absl::OkStatus();
}

PortServer::~PortServer() { Shutdown(std::chrono::milliseconds(0)); }

void PortServer::Shutdown(std::chrono::milliseconds grace) {
  loop_.reset();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_->Wait();
    // The acceptor refers to the server.
    acceptor_.reset();
    server_.reset();
  }
  users_.Shutdown(grace);
}

void PortServer::Serve(UniqueFd connection) {
  const std::string address = PeerAddress(connection.get());
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters given;
  {
    const MutexLock lock(&mutex_);
    const absl::Status room = CheckRoomLocked(address);
    if (!room.ok()) {
      log_.Write({.who = "",
                  .address = address,
                  .method = "",
                  .why = room,
                  .reason = RefusalReason::kTooManyConnections});
      return;
    }
    connections_[address].Add(connection.get());
    ++num_connections_;
  }
  given.fd = connection.Release();
  acceptor_->HandleNewConnection(&given);
}

absl::Status PortServer::CheckRoomLocked(const std::string& address) {
  const auto is_full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = connections_.find(address);
    const size_t of_address =
        found == connections_.end() ? 0 : found->second.size();
    return num_connections_ >= limits_.in_all ||
           of_address >= limits_.per_address;
  };
  if (is_full()) ForgetClosedLocked();
  if (!is_full()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the port takes ", limits_.per_address, " connections of an address and ",
      limits_.in_all, " in all"));
}

void PortServer::ForgetClosedLocked() {
  num_connections_ = 0;
  for (auto one = connections_.begin(); one != connections_.end();) {
    one->second.ForgetClosed();
    num_connections_ += one->second.size();
    one = one->second.empty() ? connections_.erase(one) : std::next(one);
  }
}

}  // namespace fgnn
