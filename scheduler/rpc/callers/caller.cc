#include "scheduler/rpc/callers/caller.h"

#include "absl/strings/str_cat.h"
#include "shared/base/user_name.h"

namespace fgnn {

Caller CallerOf(uid_t uid, uid_t service_user, const ConnectionPeers* peers) {
  return {.uid = uid,
          .name = UserName(uid),
          .is_operator = uid == 0 || uid == service_user,
          .proof = CallerProof::kKernel,
          .peers = peers};
}

absl::Status CheckMayChange(const Caller& caller, const Job& job) {
  if (caller.is_operator || caller.name == job.user) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "job ", job.id, " is of ",
      job.user.empty() ? "nobody" : absl::StrCat("user ", job.user),
      ", not of ", caller.name));
}

std::string Describe(const Caller& caller, const grpc::ServerContext& context) {
  if (caller.peers != nullptr) {
    const absl::StatusOr<Peer> peer = caller.peers->Find(context);
    return absl::StrCat(
        "user ", caller.name, " (uid ", caller.uid,
        peer.ok() ? absl::StrCat(", pid ", peer->pid) : std::string(), ")");
  }
  return absl::StrCat(
      "user ", caller.name, " (",
      caller.proof == CallerProof::kCertificate ? "certificate" : "token", ", ",
      caller.address, ")");
}

}  // namespace fgnn
