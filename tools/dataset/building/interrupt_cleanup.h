// Handles Ctrl-C while a dataset folder is being made: removes what is
// unfinished, then ends the process.
#ifndef FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_
#define FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_

#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// Blocks SIGINT and SIGTERM in the calling thread and in those that it starts
// later. A thread waits for the signals, removes the leftovers and ends the
// process with 128 plus the signal, whatever other threads are doing. Make the
// object before anything that starts threads. Thread-safe.
class InterruptCleanup {
 public:
  // The files and folders on the disk while a dataset is unfinished.
  struct Leftovers {
    std::filesystem::path dataset;  // Path of the finished dataset.
    std::filesystem::path folder;   // Path of the unfinished dataset.
    // Folders made for it, outermost first.
    std::vector<std::filesystem::path> parents;
  };

  // Throws std::system_error if the process has no descriptor left.
  InterruptCleanup();
  // Restores the former effect of the signals.
  ~InterruptCleanup();
  InterruptCleanup(const InterruptCleanup&) = delete;
  InterruptCleanup& operator=(const InterruptCleanup&) = delete;

  // Delays signals while it lives, so that the disk and the leftovers change
  // together. Does nothing for nullptr.
  class Hold {
   public:
    explicit Hold(InterruptCleanup* cleanup);
    // The analysis cannot know that the lock is there where a cleanup is.
    void Remember(Leftovers leftovers) ABSL_NO_THREAD_SAFETY_ANALYSIS;
    void Forget() { Remember({}); }

   private:
    InterruptCleanup* cleanup_;
    std::optional<MutexLock> lock_;  // nullopt: there is no cleanup.
  };

 private:
  void Wait();
  [[noreturn]] void RemoveAndExit(int signal);

  sigset_t earlier_mask_;  // Signal mask of the thread that made this object.
  UniqueFd signals_;
  UniqueFd stop_;
  Mutex mutex_;
  Leftovers leftovers_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last member: it uses the members above.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_INTERRUPT_CLEANUP_H_
