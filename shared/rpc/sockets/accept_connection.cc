#include "shared/rpc/sockets/accept_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kWarnEvery{60};

// Any descriptor that can be opened serves as a reserve.
UniqueFd OpenReserve() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// Returns a descriptor that is not valid, with errno, if none could be taken.
UniqueFd Accept(int listener) {
  while (true) {
    UniqueFd connection(
        ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    // The errors are caused by a signal, or by a client that has already gone.
    if (connection.valid() || (errno != EINTR && errno != ECONNABORTED)) {
      return connection;
    }
  }
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor() : reserve_(OpenReserve()) {}

ConnectionAcceptor::Result ConnectionAcceptor::AcceptOne(int listener) {
  if (!reserve_.valid()) reserve_ = OpenReserve();
  UniqueFd connection = Accept(listener);
  if (connection.valid()) return {Outcome::kAccepted, std::move(connection)};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
  return Refuse(listener, errno);
}

ConnectionAcceptor::Result ConnectionAcceptor::Refuse(int listener, int error) {
  reserve_.Reset();
  UniqueFd refused = Accept(listener);
  // The kernel looks for a descriptor before it looks for a connection.
  const bool none_waits =
      !refused.valid() && (errno == EAGAIN || errno == EWOULDBLOCK);
  const bool was_taken = refused.valid();
  refused.Reset();
  // Another thread may have taken the descriptor: then the next call tries
  // again.
  reserve_ = OpenReserve();
  if (none_waits) return {};
  WarnNowAndThen(error);
  return {was_taken ? Outcome::kRefused : Outcome::kExhausted, UniqueFd()};
}

void ConnectionAcceptor::WarnNowAndThen(int error) {
  const Deadline now = MonotonicClock::now();
  if (quiet_until_.has_value() && now < *quiet_until_) return;
  quiet_until_ = now + kWarnEvery;
  LogWarning(
      "connections are refused: {}; a higher limit on open files helps "
      "(ulimit -n, or LimitNOFILE= of the service)",
      std::strerror(error));
}

}  // namespace fgnn
