#include "scheduler/rpc/port/port_server.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Threads for all calls that users may have, for operators beside them, and for
// calls that are looked at before they are refused.
constexpr int kMaxThreads = CallCounts::kMostCalls + 512;
constexpr int kMaxStreams = 64;  // Calls at once on one connection.
// The gate passes 16 KiB of a call, and adds the client's certificates.
constexpr int kMaxMetadataBytes = 32 << 10;
// Milliseconds after which a connection without a call is closed; its client
// connects again.
constexpr int kMaxIdleMs = 2 * 60 * 1'000;
// A machine that is silent for so many seconds is asked whether it is there,
// and has twice the second time to answer.
constexpr int kAskAfterSeconds = 60;
constexpr int kAnswerWithinSeconds = 10;
constexpr int kAnswers = 2;

// Lets the kernel close connections of machines that are gone. An option that
// it does not take costs such a connection's place, or some time.
void SetTcpOptions(int fd) {
  constexpr int kOn = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof(kOn));
  const std::pair<int, int> options[] = {
      {TCP_NODELAY, 1},
      {TCP_KEEPIDLE, kAskAfterSeconds},
      {TCP_KEEPINTVL, kAnswerWithinSeconds},
      {TCP_KEEPCNT, kAnswers},
      {TCP_USER_TIMEOUT,
       1'000 * (kAskAfterSeconds + kAnswers * kAnswerWithinSeconds)}};
  for (const auto& [option, value] : options) {
    ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
  }
}

}  // namespace

PortServer::PortServer(const PortOptions& options,
                       std::unique_ptr<Authenticator> authenticator,
                       RefusalCounts* refusals)
    : limits_(options.limits),
      refusals_(refusals),
      authenticator_(std::move(authenticator)),
      log_(refusals),
      callers_(std::make_shared<PortCallers>(authenticator_.get(), &log_)) {}

absl::StatusOr<std::unique_ptr<PortServer>> PortServer::Start(
    const PortOptions& options, const MakeServices& make_services,
    RefusalCounts* refusals, const std::filesystem::path& gate) {
  FGNN_ASSIGN_OR_RETURN(auto authenticator, Authenticator::Open(options));
  std::unique_ptr<PortServer> made(
      new PortServer(options, std::move(authenticator), refusals));
  FGNN_RETURN_IF_ERROR(made->StartGate(options, gate));
  made->services_ = make_services(made->callers_);
  FGNN_RETURN_IF_ERROR(made->StartServer());
  FGNN_RETURN_IF_ERROR(made->Listen(options.address));
  LogInfo("listening on {}, {}", made->address().Text(),
          options.tls_dir.empty() ? "in the clear" : "with TLS");
  return made;
}

absl::Status PortServer::StartGate(const PortOptions& options,
                                   const std::filesystem::path& program) {
  GateProcessOptions of_gate = {
      .program = program,
      .name = "the port",
      .on_refused =
          [this](RefusalReason reason, const std::string& address,
                 const std::string& why) {
            log_.Write({.who = "",
                        .address = address,
                        .method = "",
                        .why = absl::UnauthenticatedError(why),
                        .reason = reason});
          },
      .on_expiry = [this](int64_t at) { refusals_->SetExpiry(at); },
      .is_in_the_clear = options.tls_dir.empty()};
  if (!options.tls_dir.empty()) {
    of_gate.arguments = {"--tls-dir", options.tls_dir.string(), "--tokens",
                         options.tokens.string()};
  }
  FGNN_ASSIGN_OR_RETURN(gate_, GateProcess::Start(std::move(of_gate)));
  return absl::OkStatus();
}

absl::Status PortServer::StartServer() {
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams)
      .AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  server_ =
      BuildServer(builder, services_,
                  {.max_idle_ms = kMaxIdleMs, .max_threads = kMaxThreads});
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
    server_.reset();
  }
  gate_.reset();
}

void PortServer::Serve(UniqueFd connection) {
  const std::string address = PeerAddress(connection.get());
  const MutexLock lock(&mutex_);
  RefusalReason reason = RefusalReason::kTooManyConnections;
  absl::Status room = CheckRoomLocked(address);
  if (room.ok()) {
    SetTcpOptions(connection.get());
    absl::StatusOr<UniqueFd> passed =
        gate_->Pass(std::move(connection), address);
    if (passed.ok()) {
      const int fd = passed->Release();
      connections_[address].Add(fd);
      ++num_connections_;
      grpc::AddInsecureChannelFromFd(server_.get(), fd);
      return;
    }
    room = passed.status();
    if (absl::IsResourceExhausted(room)) reason = RefusalReason::kFlood;
  }
  log_.Write({.who = "",
              .address = address,
              .method = "",
              .why = room,
              .reason = reason});
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
