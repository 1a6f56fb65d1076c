// The lock of a back end, for the work loop and for commands of the scheduler.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_BACKEND_LOCK_H_
#define FGNN_TRAINER_SERVICE_DAEMON_BACKEND_LOCK_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// One thread at a time has the lock. Commands go before the work loop, since
// the loop is otherwise never idle for long. Thread-safe.
class BackendLock {
 public:
  // The lock as a thread has it. Its destructor unlocks. Move-only.
  class Held {
   public:
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (lock_ != nullptr) lock_->Unlock();
    }

   private:
    friend class BackendLock;
    explicit Held(BackendLock* lock) : lock_(lock) {}
    BackendLock* lock_;
  };

  // Locks for the work loop. Returns nullopt at the deadline.
  std::optional<Held> LockForLoop(Deadline deadline);

  // Locks for a command. Calls `check` now and then: its error ends the wait
  // and is returned. Returns DeadlineExceeded at the deadline.
  absl::StatusOr<Held> LockForCommand(
      Deadline deadline, const std::function<absl::Status()>& check);

  // Returns whether a command waits for the lock. Any thread.
  bool is_wanted() const;

 private:
  void Unlock();

  mutable Mutex mutex_;
  CondVar changed_;
  bool locked_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_commands_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_BACKEND_LOCK_H_
