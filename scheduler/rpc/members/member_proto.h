// Converts what a member and the head tell each other.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_PROTO_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_PROTO_H_

#include "absl/status/statusor.h"
#include "fgnn/v1/member.pb.h"
#include "scheduler/members/member_messages.h"

namespace fgnn {

v1::ReportMemberRequest ToProto(const MemberReport& report);
// InvalidArgument: a device, an executor or the address of the exchange is
// none.
absl::StatusOr<MemberReport> FromProto(const v1::ReportMemberRequest& message);

// `has_revision`: revision of the orders that the member has. If they are these
// the message has no job.
v1::ReportMemberResponse ToProto(const MemberOrders& orders,
                                 uint64_t has_revision);
// InvalidArgument: the job's spec is wrong.
absl::StatusOr<MemberOrders> FromProto(const v1::ReportMemberResponse& message);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_PROTO_H_
