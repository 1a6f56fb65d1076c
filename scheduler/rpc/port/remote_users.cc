#include "scheduler/rpc/port/remote_users.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/rpc/build_server.h"

namespace fgnn {
namespace {

constexpr size_t kMostShown = 80;
// A channel without a call costs nothing, so none is closed.
constexpr int kMaxIdleMs = 24 * 60 * 60 * 1'000;

absl::StatusOr<Caller> CallerOf(const Identity& identity) {
  const std::optional<uid_t> uid = FindUser(identity.name);
  if (!uid.has_value()) {
    return absl::UnauthenticatedError(
        absl::StrCat("the service's machine has no user '",
                     PrintableText(identity.name, kMostShown), "'"));
  }
  return Caller{.uid = *uid,
                .name = identity.name,
                .is_operator = identity.role == RemoteRole::kOperate,
                .proof = identity.proof};
}

}  // namespace

RemoteUsers::~RemoteUsers() { Shutdown(std::chrono::milliseconds(0)); }

absl::StatusOr<std::shared_ptr<grpc::Channel>> RemoteUsers::ChannelOf(
    const Identity& identity) {
  // Asked at each call: a user who was removed is refused from then on.
  FGNN_ASSIGN_OR_RETURN(const Caller caller, CallerOf(identity));
  const Key key(caller.name, caller.uid, caller.is_operator, caller.proof);
  const MutexLock lock(&mutex_);
  if (is_shut_down_) return absl::UnavailableError("the service is ending");
  const auto found = servers_.find(key);
  if (found != servers_.end()) {
    UserServer& user = found->second;
    user.ends.ForgetClosed();
    if (user.ends.size() < 2) FGNN_RETURN_IF_ERROR(Connect(user));
    return user.channel;
  }
  FGNN_ASSIGN_OR_RETURN(UserServer made, MakeServer(caller));
  return servers_.emplace(key, std::move(made)).first->second.channel;
}

absl::StatusOr<RemoteUsers::UserServer> RemoteUsers::MakeServer(
    const Caller& caller) const {
  UserServer made;
  made.services = make_services_(caller);
  grpc::ServerBuilder builder;
  for (const auto& service : made.services) {
    builder.RegisterService(service.get());
  }
  made.server = BuildServer(builder, kMaxIdleMs);
  if (made.server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot start a server for ", caller.name));
  }
  FGNN_RETURN_IF_ERROR(Connect(made));
  return made;
}

// gRPC's channels inside of a process (1.51) lose messages, and keep a server
// from ending, after many calls that are cancelled at once.
absl::Status RemoteUsers::Connect(UserServer& user) {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends.data()) != 0) {
    return ErrnoToStatus(errno, "connect a remote user with the services");
  }
  user.ends = {};
  for (const int end : ends) user.ends.Add(end);
  // gRPC owns both ends from here on.
  grpc::AddInsecureChannelFromFd(user.server.get(), ends[0]);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  user.channel = grpc::CreateCustomInsecureChannelFromFd("remote-user", ends[1],
                                                         arguments);
  return absl::OkStatus();
}

void RemoteUsers::Shutdown(std::chrono::milliseconds grace) {
  const MutexLock lock(&mutex_);
  is_shut_down_ = true;
  const auto deadline = std::chrono::system_clock::now() + grace;
  for (auto& [key, user] : servers_) {
    user.channel.reset();
    user.server->Shutdown(deadline);
    user.server->Wait();
  }
  servers_.clear();
}

}  // namespace fgnn
