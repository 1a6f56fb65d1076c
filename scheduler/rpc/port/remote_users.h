// A gRPC server inside of this process for each remote user. As on the users'
// socket, one user's calls take no thread of another's, and the services of a
// server know their caller.
#ifndef FGNN_SCHEDULER_RPC_PORT_REMOTE_USERS_H_
#define FGNN_SCHEDULER_RPC_PORT_REMOTE_USERS_H_

#include <grpcpp/channel.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "scheduler/rpc/caller.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/certificates/identity.h"
#include "shared/rpc/sockets/open_connections.h"

namespace fgnn {

// Thread-safe.
class RemoteUsers {
 public:
  using Services = std::vector<std::unique_ptr<grpc::Service>>;
  using MakeServices = std::function<Services(const Caller& caller)>;

  explicit RemoteUsers(MakeServices make_services)
      : make_services_(std::move(make_services)) {}
  // Shuts down without grace.
  ~RemoteUsers();
  RemoteUsers(const RemoteUsers&) = delete;
  RemoteUsers& operator=(const RemoteUsers&) = delete;

  // Returns a channel to the server of this user. Unauthenticated: this machine
  // has no user of that name. Unavailable: the servers have been shut down.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelOf(
      const Identity& identity);

  // Cancels calls that still run after `grace`. Idempotent.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  struct UserServer {
    Services services;
    // Declared after its services, so that it ends before them.
    std::unique_ptr<grpc::Server> server;
    std::shared_ptr<grpc::Channel> channel;
    OpenConnections ends = {};  // Both ends of the channel's connection.
  };
  // Name, user id, whether it is an operator, and the proof. An account that
  // was made again under its name may have another id.
  using Key = std::tuple<std::string, uid_t, bool, CallerProof>;

  absl::StatusOr<UserServer> MakeServer(const Caller& caller) const;
  // Makes a channel to the user's server, in place of one that was closed.
  static absl::Status Connect(UserServer& user);

  const MakeServices make_services_;
  Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<Key, UserServer> servers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_REMOTE_USERS_H_
