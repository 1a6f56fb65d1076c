#include "scheduler/rpc/members/member_service.h"

#include "scheduler/rpc/members/member_proto.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

grpc::Status MemberServiceAdapter::StreamedReportMember(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::ReportMemberRequest,
                              v1::ReportMemberResponse>* stream) {
  return calls_.Read(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const MemberReport report, FromProto(call.request));
    // The call holds a thread, so it waits no longer than a tick.
    FGNN_ASSIGN_OR_RETURN(MemberOrders orders,
                          members_->Report(report, DeadlineIn(kTick)));
    // The member's process ended before its report was looked at.
    if (call.context.IsCancelled()) members_->NoteBreak(report.facts.name);
    if (report.log.has_value()) orders.log_bytes = TakeLog(report);
    call.response = ToProto(orders, report.revision);
    return absl::OkStatus();
  });
}

std::optional<uint64_t> MemberServiceAdapter::TakeLog(
    const MemberReport& report) {
  const absl::StatusOr<uint64_t> taken =
      logs_.Take(report.facts.name, *report.log);
  if (taken.ok()) return *taken;
  if (limit_.Ask(MonotonicClock::now()).has_value()) {
    LogWarning("a log of host {} is not copied: {}", report.facts.name,
               MessageOf(taken.status()));
  }
  return std::nullopt;
}

}  // namespace fgnn
