#include "scheduler/rpc/members/head_link.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>

#include "fgnn/v1/member.grpc.pb.h"
#include "scheduler/rpc/members/member_proto.h"
#include "shared/base/status.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/remote_channel.h"
#include "shared/rpc/status.h"

namespace fgnn {
namespace {

// The head answers within a tick, unless its machine or the network stands.
constexpr std::chrono::seconds kAnswerWithin{2};

}  // namespace

absl::StatusOr<HeadCall> MakeHeadLink(const HostPort& address,
                                      const std::filesystem::path& tls_dir) {
  FGNN_ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::Channel> channel,
      MakeRemoteChannel(
          {.address = address, .tls_dir = tls_dir, .certificate = "host"}));
  const std::shared_ptr<v1::MemberService::Stub> stub =
      v1::MemberService::NewStub(channel);
  return [stub](const MemberReport& report) -> absl::StatusOr<MemberOrders> {
    grpc::ClientContext context;
    SetDeadline(context, kAnswerWithin);
    v1::ReportMemberResponse response;
    FGNN_RETURN_IF_ERROR(
        FromGrpc(stub->ReportMember(&context, ToProto(report), &response)));
    return FromProto(response);
  };
}

}  // namespace fgnn
