// The processes behind the connections of one user.
#ifndef FGNN_SHARED_RPC_CONNECTION_PEERS_H_
#define FGNN_SHARED_RPC_CONNECTION_PEERS_H_

#include <grpcpp/server_context.h>

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/sockets/local_listener.h"

namespace fgnn {

// Calls come through a gate, so gRPC's connection does not tell whose they are.
// Thread-safe.
class ConnectionPeers {
 public:
  // Notes the process whose calls come on descriptor `fd` of gRPC's. It
  // replaces that of a connection which had this number before.
  void Add(int fd, Peer peer);
  // Returns the process that makes the call. PermissionDenied: it is not known.
  absl::StatusOr<Peer> Find(const grpc::ServerContext& context) const;

 private:
  mutable Mutex mutex_;
  std::map<int, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

// Returns the descriptor of the connection that the call came on.
// PermissionDenied: gRPC was not handed that connection.
absl::StatusOr<int> ConnectionOf(const grpc::ServerContext& context);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CONNECTION_PEERS_H_
