// Serves the members of a service: MemberService of fgnn/v1/member.proto.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_

#include <memory>
#include <utility>

#include "fgnn/v1/member.grpc.pb.h"
#include "scheduler/members/member_table.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/callers/user_calls.h"

namespace fgnn {

// HoldLink is in held_links.h. Thread-safe.
class MemberServiceAdapter final
    : public v1::MemberService::WithStreamedUnaryMethod_ReportMember<
          v1::MemberService::WithGenericMethod_HoldLink<
              v1::MemberService::Service>> {
 public:
  // Borrows the table.
  MemberServiceAdapter(std::shared_ptr<Callers> callers, MemberTable* members)
      : members_(members), calls_(std::move(callers), /*audit=*/nullptr) {}

  grpc::Status StreamedReportMember(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ReportMemberRequest,
                                v1::ReportMemberResponse>* stream) override;

 private:
  MemberTable* const members_;
  const UserCalls calls_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_
