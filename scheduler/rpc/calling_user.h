// The user and groups of a caller, by which files are looked at for it.
#ifndef FGNN_SCHEDULER_RPC_CALLING_USER_H_
#define FGNN_SCHEDULER_RPC_CALLING_USER_H_

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "scheduler/files/file_user.h"
#include "scheduler/rpc/caller.h"

namespace fgnn {

// Returns the caller's user and groups as the kernel recorded them when the
// process connected; a remote caller has no user here. Unavailable: the kernel
// cannot tell.
absl::StatusOr<FileUser> CallingUser(const Caller& caller,
                                     const grpc::ServerContext& context);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLING_USER_H_
