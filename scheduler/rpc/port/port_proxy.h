// The gate of the port. It looks at each call before any service does, and
// passes those that may be made on to the server of their user:
//
//   call ─▶ who? ─▶ has the role? ─▶ deadline? ─▶ room? ─▶ server of that user
//
// It knows methods by name only, so no method can be added that it lets through
// unasked. It holds no thread while a call runs.
#ifndef FGNN_SCHEDULER_RPC_PORT_PORT_PROXY_H_
#define FGNN_SCHEDULER_RPC_PORT_PORT_PROXY_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/rpc/port/authenticator.h"
#include "scheduler/rpc/port/call_counts.h"
#include "scheduler/rpc/port/refusal_log.h"
#include "scheduler/rpc/port/remote_users.h"

namespace fgnn {

// Thread-safe.
class PortProxy final : public grpc::CallbackGenericService {
 public:
  // Borrows all.
  PortProxy(const Authenticator* authenticator, RemoteUsers* users,
            RefusalLog* log)
      : authenticator_(authenticator), users_(users), log_(log) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  struct Admitted {
    std::shared_ptr<grpc::Channel> channel;  // Where the call goes.
    std::unique_ptr<CallCounts::Place> place;
  };

  // Unauthenticated, PermissionDenied, FailedPrecondition, InvalidArgument,
  // ResourceExhausted: the call is refused, and was logged.
  absl::StatusOr<Admitted> Admit(
      const grpc::GenericCallbackServerContext& context,
      const std::string& address);

  const Authenticator* const authenticator_;
  RemoteUsers* const users_;
  RefusalLog* const log_;
  CallCounts counts_;  // Calls that were passed on and still run.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_PORT_PROXY_H_
