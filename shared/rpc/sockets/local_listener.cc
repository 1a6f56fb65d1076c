#include "shared/rpc/sockets/local_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kBacklog = 1024;
constexpr int kPauseMs = ConnectionAcceptor::kPause.count();
// Longest wait: a lost wake-up costs at most this time.
constexpr int kLongestWaitMs = 1'000;

}  // namespace

absl::StatusOr<Peer> PeerOf(int fd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return ErrnoToStatus(errno, "ask the kernel who has connected");
  }
  return Peer{.pid = credentials.pid, .uid = credentials.uid};
}

absl::StatusOr<std::unique_ptr<LocalListener>> LocalListener::Start(
    const std::filesystem::path& socket_path, const SocketAccess& access,
    OnConnection on_connection) {
  FGNN_ASSIGN_OR_RETURN(SocketName name, SocketName::Claim(socket_path));
  FGNN_ASSIGN_OR_RETURN(UniqueFd listener, name.Listen(SOCK_STREAM, kBacklog));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoToStatus(errno, "make an event");
  FGNN_RETURN_IF_ERROR(name.Publish(access));
  return std::unique_ptr<LocalListener>(
      new LocalListener(std::move(name), std::move(listener), std::move(stop),
                        std::move(on_connection)));
}

LocalListener::LocalListener(SocketName name, UniqueFd listener, UniqueFd stop,
                             OnConnection on_connection)
    : name_(std::move(name)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      on_connection_(std::move(on_connection)),
      thread_("listener", [this] { Run(); }) {}

LocalListener::~LocalListener() {
  // Removes the name first, so that a new client sees at once that no server is
  // there.
  name_.Remove();
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(stop_.get(), &one, sizeof(one));
  thread_.Join();
}

// All users connect here: an exception must not end this loop.
void LocalListener::Run() {
  while (!WaitFor(listener_.get(), kLongestWaitMs)) {
    const absl::Status accepted = CatchExceptions([this] {
      AcceptAll();
      return absl::OkStatus();
    });
    if (accepted.ok()) continue;
    LogError("accepting on {}: {}; goes on", name_.path().string(),
             MessageOf(accepted));
    // A call that failed may fail again at once, so the loop pauses.
    WaitFor(/*fd=*/-1, kPauseMs);
  }
}

bool LocalListener::WaitFor(int fd, int milliseconds) {
  pollfd fds[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  ::poll(fds, 2, milliseconds);
  return (fds[0].revents & POLLIN) != 0;
}

void LocalListener::AcceptAll() {
  while (true) {
    ConnectionAcceptor::Result result = acceptor_.AcceptOne(listener_.get());
    switch (result.outcome) {
      case ConnectionAcceptor::Outcome::kAccepted:
        break;
      case ConnectionAcceptor::Outcome::kExhausted:
        WaitFor(/*fd=*/-1, kPauseMs);
        return;
      case ConnectionAcceptor::Outcome::kNone:
      case ConnectionAcceptor::Outcome::kRefused:
        return;
    }
    const absl::StatusOr<Peer> peer = PeerOf(result.connection.get());
    if (!peer.ok()) {
      LogWarning("{}", MessageOf(peer.status()));
      continue;
    }
    on_connection_(std::move(result.connection), *peer);
  }
}

}  // namespace fgnn
