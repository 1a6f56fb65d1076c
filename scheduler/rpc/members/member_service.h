// Serves the members of a service: MemberService of fgnn/v1/member.proto.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "fgnn/v1/member.grpc.pb.h"
#include "scheduler/members/log_copies.h"
#include "scheduler/members/member_table.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "shared/telemetry/line_limit.h"

namespace fgnn {

// HoldLink is in held_links.h. Thread-safe.
class MemberServiceAdapter final
    : public v1::MemberService::WithStreamedUnaryMethod_ReportMember<
          v1::MemberService::WithGenericMethod_HoldLink<
              v1::MemberService::Service>> {
 public:
  // Borrows the table. `state_dir`: the service's, for copies of logs.
  MemberServiceAdapter(std::shared_ptr<Callers> callers, MemberTable* members,
                       const std::filesystem::path& state_dir)
      : members_(members),
        logs_(state_dir),
        calls_(std::move(callers), /*audit=*/nullptr) {}

  grpc::Status StreamedReportMember(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ReportMemberRequest,
                                v1::ReportMemberResponse>* stream) override;

 private:
  // Adds the report's part of a log to its copy. Returns MemberOrders'
  // log_bytes.
  std::optional<uint64_t> TakeLog(const MemberReport& report);

  MemberTable* const members_;
  const LogCopies logs_;
  LineLimit limit_;  // Limit of lines about copies.
  const UserCalls calls_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_MEMBER_SERVICE_H_
