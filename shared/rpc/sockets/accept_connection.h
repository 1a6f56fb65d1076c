// Accepts connections of a listening socket, also when the process has no
// descriptor left.
#ifndef FGNN_SHARED_RPC_SOCKETS_ACCEPT_CONNECTION_H_
#define FGNN_SHARED_RPC_SOCKETS_ACCEPT_CONNECTION_H_

#include <chrono>
#include <optional>

#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Keeps one descriptor in reserve. Without it a connection that waits while
// no descriptor is left could be neither taken nor closed: the listening socket
// would stay readable, and the thread that polls it would spin.
// Not thread-safe: one acceptor belongs to one thread.
class ConnectionAcceptor {
 public:
  // The time that a caller waits after kExhausted before it looks at its
  // listening socket again. The caller polls its other descriptors meanwhile.
  static constexpr std::chrono::milliseconds kPause{100};

  enum class Outcome {
    kAccepted,
    // No connection waits.
    kNone,
    // No descriptor was left for a connection. It was closed, so that its
    // client learns of it at once. Others may wait behind it.
    kRefused,
    // The reserve did not help: the connection still waits. See kPause.
    kExhausted,
  };
  struct Result {
    Outcome outcome = Outcome::kNone;
    UniqueFd connection;  // Valid if accepted; close-on-exec and nonblocking.
  };

  ConnectionAcceptor();

  // Takes one connection. `listener` is nonblocking. Never waits.
  Result AcceptOne(int listener);

 private:
  Result Refuse(int listener, int error);
  void WarnNowAndThen(int error);

  UniqueFd reserve_;
  std::optional<Deadline> quiet_until_;  // No warning before this time.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_ACCEPT_CONNECTION_H_
