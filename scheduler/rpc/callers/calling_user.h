// The user and groups of a caller, and what they decide about a job's files.
#ifndef FGNN_SCHEDULER_RPC_CALLERS_CALLING_USER_H_
#define FGNN_SCHEDULER_RPC_CALLERS_CALLING_USER_H_

#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/access/file_user.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/rpc/callers/caller.h"
#include "scheduler/rpc/submit_request.h"

namespace fgnn {

// Returns the caller's user and groups: of a local process as the kernel
// recorded them when it connected, of a remote caller those of the account that
// it names. A remote caller who names root or the service's user, and may not
// operate, is nobody. Unavailable: the kernel cannot tell.
absl::StatusOr<FileUser> CallingUser(const Caller& caller,
                                     const grpc::ServerContext& context);

// Returns a caller who has the rights of `user`.
RunCaller RunCallerOf(const Caller& caller, const FileUser& user);

// Checks that the caller may name the files of the job: path_rules.h.
absl::Status CheckJobPaths(const PathRules& rules, const std::string& state_dir,
                           const RunCaller& caller, const ReadRequest& read);

// Makes the caller's folder of runs, for a job that names no run_dir.
absl::Status MakeRunsOfCaller(const std::string& state_dir,
                              const Caller& caller, const std::string& run_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLERS_CALLING_USER_H_
