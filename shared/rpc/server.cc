#include "shared/rpc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/rpc/grpc_address.h"
#include "shared/rpc/refused_call.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMaxUsers = 64;
// Most clients at once that are told why they are not served.
constexpr size_t kMaxRefused = 16;
// Milliseconds until their connections are closed. A client that calls again
// connects again, and is served if there is room by then.
constexpr int kMaxRefusedMs = 1'000;
constexpr std::chrono::hours kLongestDeadline{1};
// Milliseconds after which a connection without a call is closed; its client
// connects again.
constexpr int kMaxIdleMs = 10 * 60 * 1'000;

// Returns true for users who may end the service. Limits on all users together
// do not keep these out.
bool IsOperator(uid_t user) { return user == 0 || user == ::geteuid(); }

// Connections may have two fifths of the descriptors, as a gate has two for
// each; one user may have half of that.
ConnectionLimits WithinDescriptors(ConnectionLimits limits) {
  rlimit descriptors = {};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return limits;
  const size_t most = descriptors.rlim_cur * 2 / 5;
  limits.in_all = std::min(limits.in_all, most);
  limits.per_user = std::min(limits.per_user, std::max<size_t>(most / 2, 1));
  return limits;
}

}  // namespace

// Answers each call with the last error that it was given.
class RpcServer::RefusingService final : public grpc::CallbackGenericService {
 public:
  void Say(const absl::Status& why) {
    const MutexLock lock(&mutex_);
    why_ = why;
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    const MutexLock lock(&mutex_);
    return new RefusedCall(why_);
  }

 private:
  Mutex mutex_;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

RpcServer::RpcServer(std::string name, MakeServices make_services,
                     ConnectionLimits limits)
    : name_(std::move(name)),
      make_services_(std::move(make_services)),
      limits_(WithinDescriptors(limits)) {
  RouteGrpcLog();
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::filesystem::path& socket_path,
    std::vector<grpc::Service*> services) {
  std::unique_ptr<RpcServer> server(
      new RpcServer(socket_path.string(), nullptr, {}));
  server->for_owner_ = true;
  FGNN_ASSIGN_OR_RETURN(UserServer made, server->MakeServer({}, services));
  {
    const MutexLock lock(&server->mutex_);
    server->servers_.emplace(::geteuid(), std::move(made));
  }
  FGNN_RETURN_IF_ERROR(server->Listen(socket_path, {.mode = 0600}));
  return server;
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::StartForUsers(
    const std::filesystem::path& socket_path, MakeServices make_services,
    ConnectionLimits limits, std::optional<gid_t> group, Gate gate) {
  std::unique_ptr<RpcServer> server(
      new RpcServer(socket_path.string(), std::move(make_services), limits));
  server->gate_ = std::move(gate);
  FGNN_RETURN_IF_ERROR(
      server->Listen(socket_path, {.mode = 0660, .group = group}));
  return server;
}

absl::Status RpcServer::Listen(const std::filesystem::path& socket_path,
                               const SocketAccess& access) {
  FGNN_ASSIGN_OR_RETURN(
      listener_, LocalListener::Start(socket_path, access,
                                      [this](UniqueFd connection, Peer peer) {
                                        Serve(std::move(connection), peer);
                                      }));
  return absl::OkStatus();
}

absl::StatusOr<RpcServer::UserServer> RpcServer::MakeServer(
    Services services, const std::vector<grpc::Service*>& borrowed) const {
  grpc::ServerBuilder builder;
  for (grpc::Service* service : borrowed) builder.RegisterService(service);
  UserServer made;
  made.services = std::move(services);
  // No keepalive: the kernel closes a dead peer's local socket. A call to a
  // peer that hangs ends at its deadline.
  made.server =
      BuildServer(builder, made.services, {.max_idle_ms = kMaxIdleMs});
  if (made.server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot start a server for ", name_));
  }
  return made;
}

RpcServer::~RpcServer() { Shutdown(std::chrono::milliseconds(0)); }

void RpcServer::Shutdown(std::chrono::milliseconds grace) {
  // The listener ends first: a new client sees at once that no server is there.
  listener_.reset();
  const MutexLock lock(&mutex_);
  const auto deadline = std::chrono::system_clock::now() + grace;
  for (auto& [user, server] : servers_) {
    server.server->Shutdown(deadline);
    server.server->Wait();
    server.server.reset();
  }
  servers_.clear();
  if (refusing_.server == nullptr) return;
  refusing_.server->Shutdown(deadline);
  refusing_.server->Wait();
  refusing_.server.reset();
}

void RpcServer::Serve(UniqueFd connection, Peer peer) {
  // Root opened the socket for another user.
  if (for_owner_ && !IsOperator(peer.uid)) return;
  const MutexLock lock(&mutex_);
  const absl::Status served = ServeLocked(connection, peer);
  if (!served.ok()) RefuseLocked(std::move(connection), peer, served);
}

absl::Status RpcServer::ServeLocked(UniqueFd& connection, const Peer& peer) {
  const uid_t user = for_owner_ ? ::geteuid() : peer.uid;
  FGNN_ASSIGN_OR_RETURN(UserServer* const server, ServerOfLocked(user));
  FGNN_RETURN_IF_ERROR(CheckRoomLocked(*server, user));
  if (HandOver(std::move(connection), peer, *server)) ++num_connections_;
  return absl::OkStatus();
}

void RpcServer::RefuseLocked(UniqueFd connection, const Peer& peer,
                             const absl::Status& why) {
  if (refusing_.server == nullptr) {
    auto service = std::make_unique<RefusingService>();
    refusing_service_ = service.get();
    refusing_.services.others = std::move(service);
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kMaxRefusedMs);
    refusing_.server = BuildServer(builder, refusing_.services,
                                   {.max_idle_ms = kMaxRefusedMs});
    if (refusing_.server == nullptr) return;
  }
  refusing_service_->Say(why);
  refusing_.connections.ForgetClosed();
  // Further clients see their connection closed without a message.
  if (refusing_.connections.size() < kMaxRefused) {
    HandOver(std::move(connection), peer, refusing_);
  }
}

bool RpcServer::HandOver(UniqueFd connection, const Peer& peer,
                         UserServer& server) {
  if (gate_ != nullptr) {
    absl::StatusOr<UniqueFd> passed =
        gate_(std::move(connection), KeyOfUser(peer.uid));
    if (!passed.ok()) {
      if (limit_.Ask(MonotonicClock::now()).has_value()) {
        LogWarning("a connection to {} is closed: {}", name_,
                   MessageOf(passed.status()));
      }
      return false;
    }
    connection = *std::move(passed);
  }
  const int fd = connection.Release();
  server.connections.Add(fd);
  server.peers->Add(fd, peer);
  grpc::AddInsecureChannelFromFd(server.server.get(), fd);
  return true;
}

absl::StatusOr<RpcServer::UserServer*> RpcServer::ServerOfLocked(uid_t user) {
  const auto found = servers_.find(user);
  if (found != servers_.end()) return &found->second;
  if (servers_.size() >= kMaxUsers) {
    ForgetClosedLocked();
    std::erase_if(servers_, [](auto& entry) {
      if (!entry.second.connections.empty()) return false;
      // The last call of a closed connection ends by itself.
      entry.second.server->Shutdown();
      return true;
    });
  }
  if (servers_.size() >= kMaxUsers && !IsOperator(user)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        kMaxUsers, " users are connected to ", name_, "; try again later"));
  }
  auto peers = std::make_unique<ConnectionPeers>();
  Services services = make_services_(user, *peers);
  FGNN_ASSIGN_OR_RETURN(UserServer made, MakeServer(std::move(services), {}));
  made.peers = std::move(peers);
  return &servers_.emplace(user, std::move(made)).first->second;
}

absl::Status RpcServer::CheckRoomLocked(UserServer& server, uid_t user) {
  const auto is_full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return server.connections.size() >= limits_.per_user ||
           (num_connections_ >= limits_.in_all && !IsOperator(user));
  };
  if (is_full()) ForgetClosedLocked();
  if (!is_full()) return absl::OkStatus();
  // All refused users may read this message.
  return absl::ResourceExhaustedError(
      absl::StrCat(name_, " has no room for another connection: it takes ",
                   limits_.per_user, " of a user and ", limits_.in_all,
                   " in all; close some, or try again later"));
}

void RpcServer::ForgetClosedLocked() {
  num_connections_ = 0;
  for (auto& [user, server] : servers_) {
    server.connections.ForgetClosed();
    num_connections_ += server.connections.size();
  }
}

std::string KeyOfUser(uid_t user) { return absl::StrCat("uid:", user); }

absl::Status CheckDeadline(std::chrono::system_clock::time_point deadline) {
  const auto now = std::chrono::system_clock::now();
  // `now + limit` may overflow where there is no deadline, so it is not
  // computed.
  if (deadline <= now || deadline - now <= kLongestDeadline) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a call needs a deadline of at most an hour");
}

CallLimits LimitsOf(const grpc::ServerContext& context) {
  // gRPC gives a wall-clock time that it made from a duration, so the
  // difference to now is used.
  const auto left = std::clamp<std::chrono::system_clock::duration>(
      context.deadline() - std::chrono::system_clock::now(),
      std::chrono::seconds(0), kLongestDeadline);
  return {.deadline = DeadlineIn(
              std::chrono::duration_cast<MonotonicClock::duration>(left)),
          .is_cancelled = [&context] { return context.IsCancelled(); }};
}

absl::StatusOr<Peer> CallingProcess(const grpc::ServerContext& context) {
  FGNN_ASSIGN_OR_RETURN(const int fd, ConnectionOf(context));
  return PeerOf(fd);
}

}  // namespace fgnn
