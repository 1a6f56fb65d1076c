// A member's link to the head, by gRPC.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_HEAD_LINK_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_HEAD_LINK_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "scheduler/members/member_messages.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

// Returns the call that reports to the head at `address`. While a copy of it
// lives, the head holds a call of this process, whose break tells the head that
// the process has ended. `tls_dir` has
// host.pem, host.key and ca.pem. NotFound: one of them is missing. Errors of
// the call: Unavailable, the head is not there or does not answer; else what
// MemberTable::Report() returns, and the port's refusals.
absl::StatusOr<HeadCall> MakeHeadLink(const HostPort& address,
                                      const std::filesystem::path& tls_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_HEAD_LINK_H_
