// One client's connection in the gate:
//
//   handshake (TLS) ─▶ open ─▶ leaving ─▶ over
//            └───────── refused ──┘
//
// While it is open, bytes go through an Http2Proxy. A connection that leaves
// has been told why, and what its client still sends is thrown away unread.
#ifndef FGNN_SCHEDULER_GATE_GATED_CONNECTION_H_
#define FGNN_SCHEDULER_GATE_GATED_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/gate/byte_channel.h"
#include "scheduler/gate/http2/frame_counter.h"
#include "scheduler/gate/http2/http2_proxy.h"
#include "scheduler/gate/packets/gate_packet.h"
#include "shared/base/clock.h"

namespace fgnn {

// Thread-compatible.
class GatedConnection {
 public:
  // Bytes that are read at once, and most bytes that wait to be written.
  static constexpr size_t kTurnBytes = 16 << 10;
  // For TLS and the greeting, and for the rest of a frame that has begun.
  static constexpr std::chrono::seconds kPatience{10};
  // For a client to take what was written to it.
  static constexpr std::chrono::seconds kWritePatience{60};

  // Takes the connection. `tls` is borrowed; nullptr: it speaks in the clear.
  // ResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<GatedConnection>> Take(
      HandedConnection handed, ServerTls* tls, Deadline now);

  const std::string& key() const { return key_; }
  int client_fd() const { return client_.fd(); }
  int server_fd() const { return server_.fd(); }
  // Events of epoll to wait for on the client's and on the server's socket.
  uint32_t client_events() const;
  uint32_t server_events() const;

  // Reads once from each socket that has bytes, and writes what it can.
  void Turn(bool client_has_bytes, bool server_has_bytes, Deadline now);
  // Ends it if it has waited too long for its client.
  void LookAtTime(Deadline now);
  // Tells the client why, and ends it.
  void Leave(uint32_t error_code, const std::string& why, Deadline now);
  // Whether it can be destroyed.
  bool is_over() const { return stage_ == Stage::kOver; }
  // Returns the marks since the last call: Http2Proxy's, and those of frames
  // that carry nothing, of a connection that ends before a call, of calls that
  // the client left open.
  uint32_t TakeMarks();
  // Returns once why the connection was refused for its certificate, if so.
  std::optional<absl::Status> TakeRefusal();

 private:
  enum class Stage { kHandshake, kOpen, kLeaving, kOver };

  GatedConnection(HandedConnection handed, Tls tls, ServerTls* server_tls,
                  Deadline now);
  void Greet(Deadline now);
  absl::Status Open(const std::string& certificates);
  void ReadClient(Deadline now);
  void ReadServer();
  void Flush(Deadline now);
  bool FlushOnce(Deadline now);
  void BeginToLeave(Deadline now);
  void GoOnLeaving();
  void EndOfClient();
  void Breach(const absl::Status& why, Deadline now);

  const std::string key_;
  ServerTls* const tls_;
  ByteChannel client_;
  ByteChannel server_;
  Stage stage_;
  std::unique_ptr<Http2Proxy> proxy_;  // nullptr until it is open.
  FrameCounter frames_;
  std::string to_client_;
  std::string to_server_;
  Deadline since_;  // Since when its client keeps it waiting.
  std::optional<Deadline> blocked_since_;  // Since when `to_client_` waits.
  bool server_has_ended_ = false;
  uint64_t bytes_thrown_away_ = 0;
  uint32_t marks_ = 0;
  std::optional<absl::Status> refusal_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_GATED_CONNECTION_H_
