// Tells a daemon that it has to stop, by a signal or by RequestStop().
#ifndef FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_
#define FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_

#include <initializer_list>

#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Blocks its signals in the calling thread. The program constructs it before
// any other thread starts, since threads inherit the mask. Child processes
// inherit it too; the code that starts a child resets the child's mask. SIGPIPE
// is ignored in the whole process: if a peer went away, the write returns an
// error and the process goes on.
class SignalWaiter {
 public:
  // Throws std::system_error if the process has no descriptor left.
  explicit SignalWaiter(std::initializer_list<int> signals);
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  // Waits for one of the signals or RequestStop(). Returns true once one of
  // them has come, and from then on at once. Returns false at the deadline. Any
  // thread.
  bool WaitUntil(Deadline deadline) const;

  bool stop_requested() const { return WaitUntil(Deadline::min()); }

  // Returns true if one of the signals has come to the process. Call it on the
  // thread that made this object.
  bool has_signal() const;

  // Any thread. Idempotent.
  void RequestStop() const;

 private:
  UniqueFd signals_;
  UniqueFd stop_;  // Stays readable once a stop was requested.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_SIGNAL_WAITER_H_
