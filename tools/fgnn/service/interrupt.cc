#include "tools/fgnn/service/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace fgnn {
namespace {

sigset_t OnlyInterrupt() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = OnlyInterrupt();
  ::pthread_sigmask(SIG_BLOCK, &set, &earlier_mask_);
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { Wait(); });
}

Interrupt::~Interrupt() {
  const uint64_t one = 1;
  // An eventfd of 0 always takes a 1.
  [[maybe_unused]] const ssize_t written =
      ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &earlier_mask_, nullptr);
}

void Interrupt::NotifyWith(std::function<void()> on_interrupt) {
  const MutexLock lock(&mutex_);
  on_interrupt_ = std::move(on_interrupt);
  if (raised_.load() && on_interrupt_) on_interrupt_();
}

void Interrupt::Wait() {
  // Waits for the first Ctrl-C or the end of this object: both are events.
  pollfd events[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  if ((events[0].revents & POLLIN) == 0) return;
  signalfd_siginfo info;
  [[maybe_unused]] const ssize_t taken =
      ::read(signals_.get(), &info, sizeof(info));
  raised_.store(true);
  {
    const MutexLock lock(&mutex_);
    if (on_interrupt_) on_interrupt_();
  }
  // From now on this thread takes the signal, which ends the program.
  const sigset_t set = OnlyInterrupt();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  pollfd stopped = {stop_.get(), POLLIN, 0};
  while (::poll(&stopped, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace fgnn
