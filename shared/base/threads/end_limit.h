// An end that cannot hang.
#ifndef FGNN_SHARED_BASE_THREADS_END_LIMIT_H_
#define FGNN_SHARED_BASE_THREADS_END_LIMIT_H_

#include <chrono>
#include <functional>

#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// While it lives, the process is ending. If that takes longer than `limit`, a
// thread calls `on_late` and leaves by _exit(2) with code 1: what the process
// left behind is recovered as after a kill. A thread that a system call holds
// for ever, as on a network file system, can be ended in no other way.
class EndLimit {
 public:
  // `on_late` says so in the log.
  EndLimit(std::chrono::milliseconds limit, std::function<void()> on_late);
  // The end came in time.
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

 private:
  Notification in_time_;
  Thread thread_;  // Last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_END_LIMIT_H_
