// The scheduler's TCP port. It accepts connections itself, so that it can count
// them, and hands them to a gate, a process that speaks TLS and HTTP/2 with
// clients. The certificate of the server may be replaced at any time: new
// connections get the new one within seconds.
//
//   connection ─▶ room for it? ─▶ gate ─▶ gRPC ─▶ a service ─▶ PortCallers
#ifndef FGNN_SCHEDULER_RPC_PORT_PORT_SERVER_H_
#define FGNN_SCHEDULER_RPC_PORT_PORT_SERVER_H_

#include <grpcpp/server.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "scheduler/gate/process/gate_process.h"
#include "scheduler/rpc/port/authenticator.h"
#include "scheduler/rpc/port/port_callers.h"
#include "scheduler/rpc/port/port_options.h"
#include "scheduler/rpc/port/refusal_log.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/sockets/accept_loop.h"
#include "shared/rpc/sockets/open_connections.h"

namespace fgnn {

class PortServer {
 public:
  // Makes the services of the port, which ask `callers` about each call.
  using MakeServices =
      std::function<Services(std::shared_ptr<Callers> callers)>;

  // Serves. Borrows `refusals`, which gets what is refused. `gate` is the
  // program fgnn-gate. AlreadyExists: another process listens there.
  // PermissionDenied: others can read the key or the tokens. InvalidArgument,
  // FailedPrecondition: a certificate or the file of tokens is wrong.
  static absl::StatusOr<std::unique_ptr<PortServer>> Start(
      const PortOptions& options, const MakeServices& make_services,
      RefusalCounts* refusals, const std::filesystem::path& gate);
  // Shuts down without grace.
  ~PortServer();
  PortServer(const PortServer&) = delete;
  PortServer& operator=(const PortServer&) = delete;

  // The address that clients call, with the port that the kernel chose.
  const HostPort& address() const { return address_; }

  // Refuses new calls, and cancels running calls after `grace`. Idempotent.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  PortServer(const PortOptions& options,
             std::unique_ptr<Authenticator> authenticator,
             RefusalCounts* refusals);
  absl::Status StartServer();
  absl::Status StartGate(const PortOptions& options,
                         const std::filesystem::path& program);
  absl::Status Listen(const HostPort& address);
  void Serve(UniqueFd connection);
  // ResourceExhausted: there is no room for one more connection.
  absl::Status CheckRoomLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PortLimits limits_;
  RefusalCounts* const refusals_;
  HostPort address_;
  const std::unique_ptr<Authenticator> authenticator_;
  RefusalLog log_;
  // Shared with the services.
  const std::shared_ptr<PortCallers> callers_;
  Services services_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GateProcess> gate_;
  Mutex mutex_;
  std::map<std::string, OpenConnections> connections_ ABSL_GUARDED_BY(mutex_);
  size_t num_connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<AcceptLoop> loop_;  // Last member: it uses those above.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_PORT_SERVER_H_
