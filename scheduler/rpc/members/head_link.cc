#include "scheduler/rpc/members/head_link.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fgnn/v1/member.grpc.pb.h"
#include "scheduler/rpc/members/member_proto.h"
#include "shared/base/status.h"
#include "shared/rpc/call_events.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/remote_channel.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/line_limit.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// The head answers within a tick, unless its machine or the network stands.
constexpr std::chrono::seconds kAnswerWithin{2};
// Less than the longest deadline that the port takes.
constexpr std::chrono::minutes kHoldFor{30};

// A call HoldLink. Not thread-safe.
class HeldCall {
 public:
  HeldCall(v1::MemberService::Stub& stub, const std::string& name) {
    v1::HoldLinkRequest request;
    request.set_name(name);
    SetDeadline(context_, kHoldFor);
    reader_ = stub.AsyncHoldLink(&context_, request, &events_);
    reader_->Finish(&response_, &status_, nullptr);
  }
  ~HeldCall() {
    context_.TryCancel();
    DrainEvents(events_);
  }
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  // Returns how the call ended; nullopt: it is held.
  std::optional<absl::Status> End() {
    void* tag = nullptr;
    bool ok = false;
    if (!end_.has_value() &&
        events_.AsyncNext(&tag, &ok, std::chrono::system_clock::now()) ==
            grpc::CompletionQueue::GOT_EVENT) {
      end_ = FromGrpc(status_);
    }
    return end_;
  }

 private:
  grpc::CompletionQueue events_;
  grpc::ClientContext context_;
  v1::HoldLinkResponse response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::HoldLinkResponse>>
      reader_;
  std::optional<absl::Status> end_;
};

// Not thread-safe: one call at a time.
class HeadLink {
 public:
  explicit HeadLink(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::MemberService::NewStub(channel)) {}
  absl::StatusOr<MemberOrders> Report(const MemberReport& report) {
    grpc::ClientContext context;
    SetDeadline(context, kAnswerWithin);
    v1::ReportMemberResponse response;
    FGNN_RETURN_IF_ERROR(
        FromGrpc(stub_->ReportMember(&context, ToProto(report), &response)));
    Hold(report.facts.name);
    return FromProto(response);
  }

 private:
  // Begins to hold a call unless one is held.
  void Hold(const std::string& name) {
    if (held_ != nullptr) {
      const std::optional<absl::Status> end = held_->End();
      if (!end.has_value()) return;
      // A head that has gone is no news: a report tells it too.
      const bool is_news =
          !absl::IsUnavailable(*end) && !absl::IsDeadlineExceeded(*end);
      if (is_news && limit_.Ask(MonotonicClock::now()).has_value()) {
        LogWarning(
            "the head holds no call of {}: {}; it would learn late that this "
            "host is gone",
            name, MessageOf(*end));
      }
    }
    held_ = std::make_unique<HeldCall>(*stub_, name);
  }

  const std::unique_ptr<v1::MemberService::Stub> stub_;
  std::unique_ptr<HeldCall> held_;  // nullptr: none was held yet.
  LineLimit limit_;
};

}  // namespace

absl::StatusOr<HeadCall> MakeHeadLink(const HostPort& address,
                                      const std::filesystem::path& tls_dir) {
  FGNN_ASSIGN_OR_RETURN(
      const std::shared_ptr<grpc::Channel> channel,
      MakeRemoteChannel(
          {.address = address, .tls_dir = tls_dir, .certificate = "host"}));
  // Shared, since a std::function may be copied.
  return [link = std::make_shared<HeadLink>(channel)](
             const MemberReport& report) { return link->Report(report); };
}

}  // namespace fgnn
