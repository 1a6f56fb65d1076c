// Turns to use a back end, for the work loop and for commands of the scheduler.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_
#define FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Grants one turn at a time. Commands go before the work loop, since the loop
// is otherwise never idle for long. Thread-safe.
class WorkTurns {
 public:
  // A turn. It ends when destroyed. Move-only.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->End();
    }

   private:
    friend class WorkTurns;
    explicit Turn(WorkTurns* turns) : turns_(turns) {}
    WorkTurns* turns_;
  };

  // Waits for a turn of the work loop. Returns nullopt at the deadline.
  std::optional<Turn> TakeForLoop(Deadline deadline);

  // Waits for a turn of a command. Calls `check` now and then: its error ends
  // the wait and is returned. Returns DeadlineExceeded at the deadline.
  absl::StatusOr<Turn> TakeForCommand(
      Deadline deadline, const std::function<absl::Status()>& check);

 private:
  void End();

  Mutex mutex_;
  CondVar changed_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_commands_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_
