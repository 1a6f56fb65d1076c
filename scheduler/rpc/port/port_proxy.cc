#include "scheduler/rpc/port/port_proxy.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <utility>

#include "scheduler/gate/packets/gate_packet.h"
#include "scheduler/rpc/caller.h"
#include "scheduler/rpc/port/role.h"
#include "shared/base/status.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/host_port.h"
#include "shared/rpc/status.h"

namespace fgnn {
namespace {

// A call that was refused.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

// A call that is passed on. All methods take one request; a response is asked
// of the server once the one before is written. Deletes itself after the call.
//
//   request:  client ─▶ OnReadDone ─▶ Back ─▶ server
//   response: client ◀─ StartWrite ◀─ Back::OnReadDone ◀─ server
class PassedCall final : public grpc::ServerGenericBidiReactor {
 public:
  PassedCall(const grpc::GenericCallbackServerContext& context,
             std::shared_ptr<grpc::Channel> channel, const std::string& address,
             std::unique_ptr<CallCounts::Place> place)
      : place_(std::move(place)),
        method_(context.method()),
        stub_(std::move(channel)),
        back_context_(grpc::ClientContext::FromCallbackServerContext(context)),
        back_(this) {
    back_context_->AddMetadata(kCallerAddressKey, address);
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "a call needs a message"});
      return;
    }
    stub_.PrepareBidiStreamingCall(back_context_.get(), method_, {}, &back_);
    back_.Start();
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      back_.AskForNext();
    } else {
      back_.GiveUp();
    }
  }
  void OnCancel() override { back_context_->TryCancel(); }
  void OnDone() override { delete this; }

 private:
  class Back final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Back(PassedCall* call) : call_(call) {}

    void Start() {
      // OnDone() must not come while a response is written to the client.
      AddHold();
      StartWriteLast(&call_->request_, {});
      StartRead(&call_->response_);
      StartCall();
    }
    void AskForNext() { StartRead(&call_->response_); }
    void GiveUp() {
      call_->back_context_->TryCancel();
      RemoveHold();
    }
    void OnReadDone(bool ok) override {
      if (ok) {
        call_->StartWrite(&call_->response_);
      } else {
        RemoveHold();
      }
    }
    // The last call of this object: Finish() may lead to its end.
    void OnDone(const grpc::Status& status) override { call_->Finish(status); }

   private:
    PassedCall* const call_;
  };

  const std::unique_ptr<CallCounts::Place> place_;
  const std::string method_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::ClientContext> back_context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  Back back_;
};

}  // namespace

absl::StatusOr<PortProxy::Admitted> PortProxy::Admit(
    const grpc::GenericCallbackServerContext& context,
    const std::string& address) {
  Refusal refusal;
  refusal.address = address;
  refusal.method = context.method();
  const auto admit = [&]() -> absl::StatusOr<Admitted> {
    refusal.reason = HasCredentials(context) ? RefusalReason::kWrongCredentials
                                             : RefusalReason::kNoCredentials;
    FGNN_ASSIGN_OR_RETURN(const Identity identity,
                          authenticator_->Identify(context));
    refusal.who = identity.name;
    refusal.reason = RefusalReason::kRole;
    FGNN_RETURN_IF_ERROR(CheckMayCall(identity.role, context.method()));
    refusal.reason = RefusalReason::kDeadline;
    FGNN_RETURN_IF_ERROR(CheckDeadline(context.deadline()));
    refusal.reason = RefusalReason::kTooManyCalls;
    FGNN_ASSIGN_OR_RETURN(auto place, counts_.Take(identity));
    refusal.reason = RefusalReason::kNoAccount;
    FGNN_ASSIGN_OR_RETURN(auto channel, users_->ChannelOf(identity));
    return Admitted{std::move(channel), std::move(place)};
  };
  absl::StatusOr<Admitted> admitted = admit();
  if (!admitted.ok()) {
    refusal.why = admitted.status();
    log_->Write(refusal);
  }
  return admitted;
}

grpc::ServerGenericBidiReactor* PortProxy::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  // A client that opens calls and takes them back at once costs no more than
  // this.
  if (context->IsCancelled()) {
    return new RefusedCall(absl::CancelledError("taken back"));
  }
  const std::string address = OnlyValueOf(*context, kClientHeader);
  absl::StatusOr<Admitted> admitted = Admit(*context, address);
  if (!admitted.ok()) return new RefusedCall(admitted.status());
  return new PassedCall(*context, std::move(admitted->channel), address,
                        std::move(admitted->place));
}

}  // namespace fgnn
