#include "shared/base/threads/signal_waiter.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace fgnn {
namespace {

// Returns the milliseconds until the deadline, rounded up, so that a wait never
// ends before its deadline.
int MillisecondsUntil(Deadline deadline) {
  const Deadline now = MonotonicClock::now();
  if (deadline <= now) return 0;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<int64_t>(left, 60'000));
}

}  // namespace

SignalWaiter::SignalWaiter(std::initializer_list<int> signals) {
  ::signal(SIGPIPE, SIG_IGN);
  // SIGXFSZ is ignored so that a write beyond the limit of a file's size
  // returns an error.
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (error != 0) throw std::system_error(error, std::generic_category());
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_.valid() || !stop_.valid()) {
    throw std::system_error(errno, std::generic_category());
  }
}

bool SignalWaiter::WaitUntil(Deadline deadline) const {
  while (true) {
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const int timeout_ms = MillisecondsUntil(deadline);
    const int ready = ::poll(fds, 2, timeout_ms);
    if (fds[0].revents != 0 && ready > 0) return true;
    if (fds[1].revents != 0 && ready > 0) {
      // The signal stays pending, but perhaps only for this thread.
      // RequestStop() tells the other threads.
      RequestStop();
      return true;
    }
    if (timeout_ms == 0) return false;
  }
}

bool SignalWaiter::has_signal() const {
  pollfd signals = {signals_.get(), POLLIN, 0};
  return ::poll(&signals, 1, 0) > 0;
}

void SignalWaiter::RequestStop() const {
  const uint64_t one = 1;
  // The write fails only if the counter is at its limit. Then the descriptor is
  // readable already.
  [[maybe_unused]] const ssize_t written =
      ::write(stop_.get(), &one, sizeof(one));
}

}  // namespace fgnn
