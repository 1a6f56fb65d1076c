// A named thread that its owner joins.
#ifndef FGNN_SHARED_BASE_THREADS_THREAD_H_
#define FGNN_SHARED_BASE_THREADS_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace fgnn {

// Runs `body` at once in a thread that ps and gdb show as `name` (its first 15
// bytes). Joins when destroyed, so tell the body to return before that. An
// exception that leaves `body` ends the process: see CatchExceptions().
class Thread {
 public:
  // Internal if the system starts no further thread.
  static absl::StatusOr<Thread> Start(std::string name,
                                      std::function<void()> body);
  Thread() = default;
  // As Start(), but throws std::system_error: for threads without which the
  // process cannot serve.
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&&) = default;
  // Joins what ran here before.
  Thread& operator=(Thread&& other);
  ~Thread();

  // Waits for the body to return. Does nothing without a running thread.
  void Join();

 private:
  std::thread thread_;
};

// From now on the calling thread, when it wakes up, waits for its turn where
// another one has the core, instead of interrupting it: for work ahead of whom
// it is for. It keeps its share of the core. Threads that it makes inherit
// this. A kernel that refuses costs time, and nothing else.
void WaitForTurnsOnTheCore();

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_THREAD_H_
