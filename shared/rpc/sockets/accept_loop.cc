#include "shared/rpc/sockets/accept_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kPauseMs = ConnectionAcceptor::kPause.count();
// Longest wait: a lost wake-up costs at most this time.
constexpr int kLongestWaitMs = 1'000;
// Connections until the loop looks whether it has to end.
constexpr int kMostAtOnce = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::Start(
    std::string name, UniqueFd listener, OnConnection on_connection) {
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoToStatus(errno, "make an event");
  return std::unique_ptr<AcceptLoop>(
      new AcceptLoop(std::move(name), std::move(listener), std::move(stop),
                     std::move(on_connection)));
}

AcceptLoop::AcceptLoop(std::string name, UniqueFd listener, UniqueFd stop,
                       OnConnection on_connection)
    : name_(std::move(name)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      on_connection_(std::move(on_connection)),
      thread_("listener", [this] { Run(); }) {}

AcceptLoop::~AcceptLoop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(stop_.get(), &one, sizeof(one));
  thread_.Join();
}

// All users connect here: an exception must not end this loop.
void AcceptLoop::Run() {
  while (!WaitFor(listener_.get(), kLongestWaitMs)) {
    const absl::Status accepted = CatchExceptions([this] {
      AcceptAll();
      return absl::OkStatus();
    });
    if (accepted.ok()) continue;
    LogError("accepting on {}: {}; goes on", name_, MessageOf(accepted));
    // A call that failed may fail again at once, so the loop pauses.
    WaitFor(/*fd=*/-1, kPauseMs);
  }
}

bool AcceptLoop::WaitFor(int fd, int milliseconds) {
  pollfd fds[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  ::poll(fds, 2, milliseconds);
  return (fds[0].revents & POLLIN) != 0;
}

void AcceptLoop::AcceptAll() {
  for (int i = 0; i < kMostAtOnce; ++i) {
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
    on_connection_(std::move(result.connection));
  }
}

}  // namespace fgnn
