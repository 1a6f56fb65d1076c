// Who calls the service, by the kernel's word.
#ifndef FGNN_SCHEDULER_RPC_CALLER_H_
#define FGNN_SCHEDULER_RPC_CALLER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "scheduler/store/job.h"

namespace fgnn {

struct Caller {
  uid_t uid = 0;
  std::string name;          // The user's, or "uid 1234" without a name.
  bool is_operator = false;  // Root or the service's own user: may do all.
};

// The caller with this user id. `service_user`: the id of the service's user.
Caller CallerOf(uid_t uid, uid_t service_user);

// Whether the caller may change `job`: its own, or any as an operator.
// PermissionDenied: the job is another user's.
absl::Status CheckMayChange(const Caller& caller, const Job& job);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLER_H_
