// The callers of the port, as their calls show them:
//
//   call ─▶ who? ─▶ has the role? ─▶ deadline? ─▶ room? ─▶ has an account?
//
// A refused call is logged and counted.
#ifndef FGNN_SCHEDULER_RPC_PORT_PORT_CALLERS_H_
#define FGNN_SCHEDULER_RPC_PORT_PORT_CALLERS_H_

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/port/authenticator.h"
#include "scheduler/rpc/port/call_counts.h"
#include "scheduler/rpc/port/refusal_log.h"

namespace fgnn {

// Thread-safe.
class PortCallers final : public Callers {
 public:
  // Borrows both.
  PortCallers(const Authenticator* authenticator, RefusalLog* log)
      : authenticator_(authenticator), log_(log) {}

  // Unauthenticated, PermissionDenied, InvalidArgument, ResourceExhausted: the
  // call is refused. Cancelled: its client has taken it back.
  absl::StatusOr<AdmittedCall> Admit(const grpc::ServerContextBase& context,
                                     absl::string_view method,
                                     CallHolds holds) override;

 private:
  const Authenticator* const authenticator_;
  RefusalLog* const log_;
  CallCounts counts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_PORT_CALLERS_H_
