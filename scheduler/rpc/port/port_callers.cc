#include "scheduler/rpc/port/port_callers.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/gate/packets/gate_packet.h"
#include "scheduler/rpc/port/role.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

constexpr size_t kMostShownOfName = 80;

// Asked at each call: a user who was removed is refused from then on.
absl::StatusOr<Caller> CallerOf(const Identity& identity,
                                const std::string& address) {
  const std::optional<uid_t> uid = FindUser(identity.name);
  if (!uid.has_value()) {
    return absl::UnauthenticatedError(
        absl::StrCat("the service's machine has no user '",
                     PrintableText(identity.name, kMostShownOfName), "'"));
  }
  return Caller{.uid = *uid,
                .name = identity.name,
                .is_operator = identity.role == RemoteRole::kOperate,
                .proof = identity.proof,
                .address = address};
}

}  // namespace

absl::StatusOr<AdmittedCall> PortCallers::Admit(
    const grpc::ServerContextBase& context, absl::string_view method,
    CallHolds holds) {
  // A client that opens calls and takes them back at once costs no more than
  // this.
  if (context.IsCancelled()) return absl::CancelledError("taken back");
  Refusal refusal;
  refusal.address = OnlyValueOf(context, kClientHeader);
  refusal.method = std::string(method);
  const auto admit = [&]() -> absl::StatusOr<AdmittedCall> {
    refusal.reason = HasCredentials(context) ? RefusalReason::kWrongCredentials
                                             : RefusalReason::kNoCredentials;
    FGNN_ASSIGN_OR_RETURN(const Identity identity,
                          authenticator_->Identify(context));
    refusal.who = identity.name;
    refusal.reason = RefusalReason::kRole;
    FGNN_RETURN_IF_ERROR(CheckMayCall(identity.role, method));
    refusal.reason = RefusalReason::kDeadline;
    FGNN_RETURN_IF_ERROR(CheckDeadline(context.deadline()));
    refusal.reason = RefusalReason::kTooManyCalls;
    FGNN_ASSIGN_OR_RETURN(auto place, counts_.Take(identity, holds));
    refusal.reason = RefusalReason::kNoAccount;
    FGNN_ASSIGN_OR_RETURN(Caller caller, CallerOf(identity, refusal.address));
    return AdmittedCall{.caller = std::move(caller), .place = std::move(place)};
  };
  absl::StatusOr<AdmittedCall> admitted = admit();
  if (!admitted.ok()) {
    refusal.why = admitted.status();
    log_->Write(refusal);
  }
  return admitted;
}

}  // namespace fgnn
