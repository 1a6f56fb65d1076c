// Who may use a back end: the work loop, or a command of the scheduler.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_
#define FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// One turn at a time; commands go before the loop, which is never idle for
// long otherwise. Thread-safe.
class WorkTurns {
 public:
  // Ends when destroyed. Move-only.
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

  // nullopt at the deadline.
  std::optional<Turn> TakeForLoop(Deadline deadline);

  // `check` is asked every now and then: an error ends the wait with it.
  // DeadlineExceeded.
  absl::StatusOr<Turn> TakeForCommand(
      Deadline deadline, const std::function<absl::Status()>& check);

 private:
  void End();

  // absl::Mutex waits by the wall clock, which may jump.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;        // Guarded by mutex_.
  int waiting_commands_ = 0;  // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_WORK_TURNS_H_
