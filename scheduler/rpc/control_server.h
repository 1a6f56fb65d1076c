// The scheduler's sockets: JobService and DeviceService for clients, and
// HostService for daemons. Clients cannot keep daemons waiting, as each has its
// own server. Clients on other machines call a TCP port (port/port_server.h).
#ifndef FGNN_SCHEDULER_RPC_CONTROL_SERVER_H_
#define FGNN_SCHEDULER_RPC_CONTROL_SERVER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/members/member_table.h"
#include "scheduler/rpc/idle_end.h"
#include "scheduler/rpc/port/port_options.h"

namespace fgnn {

// Facts about the service for GetService, and a function that ends the service.
struct ServiceFacts {
  std::string version;
  std::string state_dir;
  // Group that the users' socket is open to; nullopt: the service's own.
  std::optional<gid_t> socket_group = std::nullopt;
  PathRules paths = {};  // Files that jobs may name.
  int64_t started_ms = 0;
  std::vector<Device> devices;
  std::string http = {};  // "HOST:PORT" of the service's pages; empty: none.
  IdleEnd* idle_end = nullptr;      // Whether it ends when idle; borrowed.
  std::function<void()> shut_down;  // Ends the service; returns at once.
  // The program fgnn-gate, which reads the bytes of users; empty only in tests.
  std::filesystem::path gate = {};
  MemberTable* members = nullptr;  // Borrowed; nullptr only in tests.
  // TCP port for remote users; nullopt: none.
  std::optional<PortOptions> port = std::nullopt;
  // Counts of what the port refuses; borrowed. nullptr only without a port.
  RefusalCounts* refusals = nullptr;
};

class ControlServer {
 public:
  // Serves users on <state dir>/scheduler.sock, and processes of the service's
  // user on <state dir>/daemons.sock. Borrows `table` and `host` until after
  // Shutdown(). Also serves remote users on facts.port. Errors as those of
  // RpcServer::Start() and PortServer::Start().
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(
      ServiceFacts facts, JobTable* table, DaemonHost* host);
  // Shuts down without grace.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Shuts down as RpcServer::Shutdown() does.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  struct Parts;
  explicit ControlServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CONTROL_SERVER_H_
