// Turns Ctrl-C into an event; the program does not end.
#ifndef FGNN_TOOLS_FGNN_SERVICE_INTERRUPT_H_
#define FGNN_TOOLS_FGNN_SERVICE_INTERRUPT_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Exit code of a command that Ctrl-C ended.
inline constexpr int kInterruptedExitCode = 130;

// Blocks SIGINT in the calling thread and in those that it starts later; a
// thread waits for the signal. Make the object before anything that starts
// threads. A second Ctrl-C ends the program as usual. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool raised() const { return raised_.load(); }

  // Calls `on_interrupt` once, from the waiting thread, when Ctrl-C comes, or
  // at once if it has come already. An empty function removes the last one. It
  // must not block.
  void NotifyWith(std::function<void()> on_interrupt);

 private:
  void Wait();

  sigset_t earlier_mask_;  // Signal mask of the thread that made this object.
  std::atomic<bool> raised_ = false;
  Mutex mutex_;
  std::function<void()> on_interrupt_ ABSL_GUARDED_BY(mutex_);
  UniqueFd signals_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_INTERRUPT_H_
