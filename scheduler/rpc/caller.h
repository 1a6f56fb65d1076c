// The user who calls the service, as the kernel reports it.
#ifndef FGNN_SCHEDULER_RPC_CALLER_H_
#define FGNN_SCHEDULER_RPC_CALLER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "scheduler/store/job.h"

namespace fgnn {

struct Caller {
  uid_t uid = 0;
  std::string name;  // Name of the user; "uid 1234" if it has none.
  // Whether it is root or the service's user, who may do everything.
  bool is_operator = false;
};

// Returns the caller with this user id. `service_user` is the id of the
// service's user.
Caller CallerOf(uid_t uid, uid_t service_user);

// Returns OK if the caller may change the job: it is the caller's, or the
// caller is an operator. PermissionDenied: the job is another user's.
absl::Status CheckMayChange(const Caller& caller, const Job& job);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLER_H_
