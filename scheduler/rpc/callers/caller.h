// The user who calls the service: a local process, which the kernel names, or a
// remote one, which shows a certificate or a token.
#ifndef FGNN_SCHEDULER_RPC_CALLERS_CALLER_H_
#define FGNN_SCHEDULER_RPC_CALLERS_CALLER_H_

#include <grpcpp/server_context.h>
#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "scheduler/store/job.h"
#include "shared/rpc/certificates/identity.h"
#include "shared/rpc/connection_peers.h"

namespace fgnn {

struct Caller {
  uid_t uid = 0;
  std::string name;  // Name of the user; "uid 1234" if it has none.
  // Whether it may do everything: it is root or the service's user on this
  // machine, or has the role "operate" elsewhere.
  bool is_operator = false;
  CallerProof proof = CallerProof::kKernel;
  // The processes of a local caller; borrowed. nullptr for a remote one.
  const ConnectionPeers* peers = nullptr;
  // Address of a remote caller; a local one has none.
  std::string address = {};
};

// Returns the local caller with this user id. `service_user` is the id of the
// service's user. Borrows `peers`.
Caller CallerOf(uid_t uid, uid_t service_user, const ConnectionPeers* peers);

// Returns OK if the caller may change the job: it is the caller's, or the
// caller is an operator. PermissionDenied: the job is another user's.
absl::Status CheckMayChange(const Caller& caller, const Job& job);

// Returns the caller of one call for a log: "user ann (uid 1000, pid 5)", or
// "user ann (certificate, 10.0.0.7)". `context` is that call's.
std::string Describe(const Caller& caller, const grpc::ServerContext& context);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLERS_CALLER_H_
