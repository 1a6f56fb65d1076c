// A named thread that its owner joins.
#ifndef FGNN_SHARED_BASE_THREADS_THREAD_H_
#define FGNN_SHARED_BASE_THREADS_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace fgnn {

// Runs `body` at once in a thread that ps and gdb show as `name` (its first 15
// bytes). The destructor joins the thread, so the owner tells the body to
// return before. An exception that leaves `body` ends the process: see
// CatchExceptions().
class Thread {
 public:
  // Returns Internal if the system starts no further thread.
  static absl::StatusOr<Thread> Start(std::string name,
                                      std::function<void()> body);
  Thread() = default;
  // Does the same as Start(), but throws std::system_error. For threads without
  // which the process cannot serve.
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&&) = default;
  // Joins the thread that this object held before.
  Thread& operator=(Thread&& other);
  ~Thread();

  // Waits for the body to return. Does nothing without a running thread.
  void Join();

 private:
  std::thread thread_;
};

// Changes the scheduling of the calling thread, for threads that work ahead of
// the thread that needs their results. When the thread wakes up while another
// one has the core, it waits for its turn instead of interrupting that thread.
// It keeps its share of the core. Threads that it starts inherit this. If the
// kernel refuses, only time is lost.
void WaitForTurnsOnTheCore();

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_THREAD_H_
