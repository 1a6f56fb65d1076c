#include "scheduler/rpc/port/remote_users.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

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
  const Key key(caller.name, caller.is_operator, caller.proof);
  const MutexLock lock(&mutex_);
  if (is_shut_down_) return absl::UnavailableError("the service is ending");
  const auto found = servers_.find(key);
  if (found != servers_.end()) return found->second.channel;
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
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  made.channel = made.server->InProcessChannel(arguments);
  return made;
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
