#include "shared/rpc/connection_peers.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<int> ConnectionOf(const grpc::ServerContext& context) {
  // gRPC's name of a connection that it was handed.
  const std::string peer = context.peer();
  absl::string_view number = peer;
  int fd = -1;
  if (!absl::ConsumePrefix(&number, "fd:") || !absl::SimpleAtoi(number, &fd)) {
    return absl::PermissionDeniedError(
        absl::StrCat("the kernel cannot tell who calls from ", peer));
  }
  return fd;
}

void ConnectionPeers::Add(int fd, Peer peer) {
  const MutexLock lock(&mutex_);
  peers_.insert_or_assign(fd, std::move(peer));
}

absl::StatusOr<Peer> ConnectionPeers::Find(
    const grpc::ServerContext& context) const {
  FGNN_ASSIGN_OR_RETURN(const int fd, ConnectionOf(context));
  const MutexLock lock(&mutex_);
  const auto found = peers_.find(fd);
  if (found != peers_.end()) return found->second;
  return absl::PermissionDeniedError("nobody knows who calls");
}

}  // namespace fgnn
