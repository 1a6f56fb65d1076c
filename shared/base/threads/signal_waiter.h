// How a daemon learns that it is to stop: by a signal or by RequestStop().
#ifndef FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_
#define FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_

#include <initializer_list>

#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Blocks its signals in the calling thread, so construct it before any other
// thread starts: they inherit the mask. So do child processes; whoever spawns
// one resets its mask. SIGPIPE is ignored for the whole process: a peer that
// went away is an error of the write, not the end of the process.
class SignalWaiter {
 public:
  // Throws std::system_error where the process has no descriptor left.
  explicit SignalWaiter(std::initializer_list<int> signals);
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  // Waits for one of the signals or RequestStop(). True once either has come,
  // and from then on at once; false at the deadline. Any thread.
  bool WaitUntil(Deadline deadline) const;

  bool stop_requested() const { return WaitUntil(Deadline::min()); }

  // Any thread. Idempotent.
  void RequestStop() const;

 private:
  UniqueFd signals_;
  UniqueFd stop_;  // Readable for good once a stop was requested.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_
