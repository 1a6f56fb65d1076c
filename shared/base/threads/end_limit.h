// A limit on the time that a process takes to end.
#ifndef FGNN_SHARED_BASE_THREADS_END_LIMIT_H_
#define FGNN_SHARED_BASE_THREADS_END_LIMIT_H_

#include <chrono>
#include <functional>

#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// The process is ending while this object lives. If that takes longer than
// `limit`, a thread calls `on_late` and ends the process by _exit(2) with code
// 1. Other processes then recover as after a kill. A system call may hold a
// thread for ever, as on a network file system: such a process can be ended in
// no other way.
class EndLimit {
 public:
  // `on_late`: writes to the log that the limit has passed.
  EndLimit(std::chrono::milliseconds limit, std::function<void()> on_late);
  // Ends the limit: the process ended in time.
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

 private:
  Notification in_time_;
  Thread thread_;  // Last: the thread uses the fields above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_END_LIMIT_H_
