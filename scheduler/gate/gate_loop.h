// Serves the connections that the scheduler hands over, on one thread. Each
// that has bytes gets a short turn, so that none waits for another's flood.
#ifndef FGNN_SCHEDULER_GATE_GATE_LOOP_H_
#define FGNN_SCHEDULER_GATE_GATE_LOOP_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/gate/gated_connection.h"
#include "scheduler/gate/marks.h"
#include "scheduler/gate/packets/gate_packet.h"
#include "scheduler/gate/server_tls.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct GateOptions {
  // Folder with server.pem, server.key and ca.pem; empty: clients speak in the
  // clear.
  std::filesystem::path tls_dir;
  std::filesystem::path tokens;  // File of tokens, which may be made later.
};

class GateLoop {
 public:
  // `control` is this gate's end of the pair of gate_packet.h. Tells the
  // scheduler that it is ready, or why it is not. Errors: those of
  // ServerTls::Open().
  static absl::StatusOr<std::unique_ptr<GateLoop>> Start(
      const GateOptions& options, UniqueFd control);
  // Serves until the scheduler closes its end.
  absl::Status Run();

 private:
  struct Served {
    std::unique_ptr<GatedConnection> connection;
    // What epoll waits for; 0: the socket is not in its set.
    uint32_t client_events = 0;
    uint32_t server_events = 0;
  };

  GateLoop(UniqueFd control, UniqueFd events)
      : control_(std::move(control)), epoll_(std::move(events)) {}
  // Takes some of the connections that wait. Unavailable: the scheduler ended.
  absl::Status TakeConnections(Deadline now);
  void Take(HandedConnection handed, Deadline now);
  void Serve(uint64_t number, bool is_server, Deadline now);
  // Counts the connection's marks, and tells epoll what it waits for. Returns
  // false if it is over.
  bool Settle(uint64_t number, Served& served, Deadline now);
  void Watch(int fd, uint64_t tag, uint32_t wanted, uint32_t& present) const;
  void LookAtAll(Deadline now);
  void LookAtTls();
  void ReportFlood(const std::string& key) const;
  void Report(const std::string& text) const;

  const UniqueFd control_;
  const UniqueFd epoll_;
  std::unique_ptr<ServerTls> tls_;  // nullptr: clients speak in the clear.
  std::string last_fault_;          // What was wrong with the files of TLS.
  // Marks for needless work that clients cause. A bucket fills in ten seconds.
  Marks marks_{/*most=*/256, /*per_second=*/25};
  std::map<uint64_t, Served> served_;  // By numbers from 1.
  uint64_t last_number_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_GATE_LOOP_H_
