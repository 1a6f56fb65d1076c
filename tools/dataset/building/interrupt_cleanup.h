// Ctrl-C while a dataset folder is being made: what is unfinished goes, then
// the process ends.
#ifndef FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_
#define FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_

#include <csignal>
#include <filesystem>
#include <mutex>
#include <vector>

#include "shared/base/thread.h"
#include "shared/base/unique_fd.h"

namespace fgnn {

// Blocks SIGINT and SIGTERM in the calling thread and those it starts later,
// and waits for them on a thread of its own, which removes the leftovers and
// ends the process with 128 plus the signal, whatever other threads are doing.
// Make it before anything that starts threads. Thread-safe.
class InterruptCleanup {
 public:
  // What is on the disk as long as a dataset is not whole.
  struct Leftovers {
    std::filesystem::path dataset;               // Its name once it is whole.
    std::filesystem::path folder;                // Where it is made meanwhile.
    std::vector<std::filesystem::path> parents;  // Made for it; outermost
                                                 // first.
  };

  // Throws std::system_error where the process has no descriptor left.
  InterruptCleanup();
  // Signals do again what they did before.
  ~InterruptCleanup();
  InterruptCleanup(const InterruptCleanup&) = delete;
  InterruptCleanup& operator=(const InterruptCleanup&) = delete;

  // Keeps signals waiting while it lives, so that the disk and the leftovers
  // change together. Of nullptr, it does nothing.
  class Hold {
   public:
    explicit Hold(InterruptCleanup* cleanup);
    void Remember(Leftovers leftovers);
    void Forget() { Remember({}); }

   private:
    InterruptCleanup* cleanup_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  void Wait();
  [[noreturn]] void RemoveAndExit(int signal);

  sigset_t earlier_mask_;  // Of the thread that made this.
  UniqueFd signals_;
  UniqueFd stop_;
  std::mutex mutex_;
  Leftovers leftovers_;  // Guarded by mutex_.
  Thread thread_;        // Last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_
