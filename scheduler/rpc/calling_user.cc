#include "scheduler/rpc/calling_user.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kUsualGroups = 64;

absl::Status CannotTell() {
  return ErrnoToStatus(errno, "ask the kernel for the groups of the caller");
}

}  // namespace

absl::StatusOr<FileUser> CallingUser(const Caller& caller,
                                     const grpc::ServerContext& context) {
  if (caller.proof != CallerProof::kKernel) return FileUser();
  // gRPC's name of a connection that it was handed.
  const std::string peer = context.peer();
  absl::string_view number = peer;
  int fd = -1;
  if (!absl::ConsumePrefix(&number, "fd:") || !absl::SimpleAtoi(number, &fd)) {
    return absl::UnavailableError("the kernel cannot tell who calls");
  }
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return CannotTell();
  }
  FileUser user = {.uid = caller.uid, .groups = {}};
  user.groups.resize(kUsualGroups);
  const auto read_groups = [&] {
    size = static_cast<socklen_t>(user.groups.size() * sizeof(gid_t));
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, user.groups.data(),
                        &size) == 0;
  };
  if (!read_groups()) {
    if (errno != ERANGE) return CannotTell();
    user.groups.resize(size / sizeof(gid_t));  // As many as there are.
    if (!read_groups()) return CannotTell();
  }
  user.groups.resize(size / sizeof(gid_t));
  user.groups.push_back(credentials.gid);
  return user;
}

}  // namespace fgnn
