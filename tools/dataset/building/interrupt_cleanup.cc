#include "tools/dataset/building/interrupt_cleanup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Most attempts to empty the folder. Other threads may still write: a file that
// is made meanwhile is removed at the next attempt. Once the folder is gone,
// nothing can be made in it.
constexpr int kMostTries = 1000;

bool RemoveWhole(const fs::path& folder) {
  std::error_code error;
  for (int i = 0; i < kMostTries; ++i) {
    fs::remove_all(folder, error);
    if (!error && !fs::exists(folder, error)) return true;
  }
  return false;
}

}  // namespace

InterruptCleanup::InterruptCleanup() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_.valid() || !stop_.valid()) {
    throw std::system_error(errno, std::generic_category());
  }
  ::pthread_sigmask(SIG_BLOCK, &set, &earlier_mask_);
  thread_ = Thread("interrupt", [this] { Wait(); });
}

InterruptCleanup::~InterruptCleanup() {
  const uint64_t one = 1;
  // An eventfd of 0 always takes a 1.
  [[maybe_unused]] const ssize_t written =
      ::write(stop_.get(), &one, sizeof(one));
  thread_.Join();
  ::pthread_sigmask(SIG_SETMASK, &earlier_mask_, nullptr);
}

InterruptCleanup::Hold::Hold(InterruptCleanup* cleanup) : cleanup_(cleanup) {
  if (cleanup_ != nullptr) lock_.emplace(&cleanup_->mutex_);
}

void InterruptCleanup::Hold::Remember(Leftovers leftovers) {
  if (cleanup_ != nullptr) cleanup_->leftovers_ = std::move(leftovers);
}

void InterruptCleanup::Wait() {
  pollfd events[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  if ((events[0].revents & POLLIN) == 0) return;
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) !=
      static_cast<ssize_t>(sizeof(info))) {
    return;
  }
  RemoveAndExit(static_cast<int>(info.ssi_signo));
}

void InterruptCleanup::RemoveAndExit(int signal) {
  // Held until the process ends: no other thread can make, rename or report
  // anything any more.
  const MutexLock lock(&mutex_);
  if (!leftovers_.folder.empty()) {
    const bool removed = RemoveWhole(leftovers_.folder);
    for (; !leftovers_.parents.empty(); leftovers_.parents.pop_back()) {
      ::rmdir(leftovers_.parents.back().c_str());
    }
    // Wipes the progress bar.
    if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
    if (removed) {
      std::fprintf(stderr, "fgnn: interrupted; %s was not made\n",
                   leftovers_.dataset.c_str());
    } else {
      std::fprintf(stderr, "fgnn: interrupted; %s is left, remove it\n",
                   leftovers_.folder.c_str());
    }
  }
  // Not exit(): other threads still use what it would destroy.
  ::_exit(128 + signal);
}

}  // namespace fgnn
