// What remote callers may do: the role that each method needs.
#ifndef FGNN_SCHEDULER_RPC_PORT_ROLE_H_
#define FGNN_SCHEDULER_RPC_PORT_ROLE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "shared/rpc/certificates/identity.h"

namespace fgnn {

// The rule of one method.
struct MethodRule {
  absl::string_view method;  // As on the wire: "/fgnn.v1.JobService/GetJob".
  RemoteRole role;
};

// Returns the rules of all methods that the port has.
absl::Span<const MethodRule> MethodRules();

// Returns OK if a remote caller with this role may call the method. An operator
// may call what a submitter may. PermissionDenied: the method needs another
// role, or has no rule.
absl::Status CheckMayCall(RemoteRole role, absl::string_view method);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_ROLE_H_
