// The user and groups of a caller, by which files are looked at for it.
#ifndef FGNN_SCHEDULER_RPC_CALLING_USER_H_
#define FGNN_SCHEDULER_RPC_CALLING_USER_H_

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "scheduler/files/access/file_user.h"
#include "scheduler/rpc/caller.h"

namespace fgnn {

// Returns the caller's user and groups: of a local process as the kernel
// recorded them when it connected, of a remote caller those of the account that
// it names. A remote caller who names root or the service's user, and may not
// operate, is nobody. Unavailable: the kernel cannot tell.
absl::StatusOr<FileUser> CallingUser(const Caller& caller,
                                     const grpc::ServerContext& context);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLING_USER_H_
