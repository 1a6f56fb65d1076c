// One connection's bytes, with TLS or in the clear.
#ifndef FGNN_SCHEDULER_GATE_BYTE_CHANNEL_H_
#define FGNN_SCHEDULER_GATE_BYTE_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "scheduler/gate/server_tls.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Nothing waits. Thread-compatible.
class ByteChannel {
 public:
  enum class State {
    kDone,
    kBlocked,  // The socket has no bytes, or no room.
    kEnded,    // The peer has closed it, broken TLS, or begun it anew.
  };
  struct Moved {
    State state = State::kBlocked;
    size_t bytes = 0;
  };

  // `socket` does not block. `tls` is of that socket; nullptr: in the clear.
  ByteChannel(UniqueFd socket, Tls tls)
      : socket_(std::move(socket)), tls_(std::move(tls)) {}

  int fd() const { return socket_.get(); }
  SSL* tls() const { return tls_.get(); }
  // Goes on with the handshake of TLS. kEnded: it failed.
  State ShakeHands();
  // Reads what has come, as far as it fits. kDone: some bytes.
  Moved Read(absl::Span<uint8_t> out);
  // Writes as much as the socket takes. kDone: some bytes.
  Moved Write(absl::string_view bytes);
  // Reads bytes, below TLS, only to throw them away. Results as of Read().
  Moved ThrowAway();
  // Whether any byte has come.
  bool has_heard() const;
  // Says that no more bytes follow. The peer may still send some. Idempotent.
  void EndWriting();

 private:
  State StateOf(int result) const;
  Moved ReadSocket(absl::Span<uint8_t> out);

  const UniqueFd socket_;
  bool has_heard_ = false;  // In the clear.
  // Messages of a handshake after the first one: new keys, or a negotiation.
  bool has_begun_anew_ = false;
  bool has_ended_writing_ = false;
  const Tls tls_;  // Declared after its socket, so that it ends before it.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_BYTE_CHANNEL_H_
