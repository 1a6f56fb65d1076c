// How a trainer trains a part of a batch (GSplit): it exchanges rows with the
// trainers of the other parts, and waits for them by the rules of
// shared/queue/README.md, so that no trainers wait for each other for ever.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_PART_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_PART_EXCHANGE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "shared/minibatch/task.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/row_shuffle.h"
#include "trainer_service/shuffle/board_shuffle.h"

namespace fgnn {

// Why a trainer gives the part that it trains back to the queue. What the part
// has published stays.
enum class PartEnd : uint8_t {
  kDone,       // It does not: the part is trained.
  kTakeOther,  // A missing part is READY: the trainer takes that one (rule d).
  kEndTurn,    // A missing part is FREE: the device has to sample (rule e).
  kLeave,      // The trainer is wanted elsewhere.
};

// One thread at a time, but for progress().
class PartExchange {
 public:
  struct Hooks {
    // Called after each look of 100 ms in which a message did not come: the
    // trainer gives back what it has claimed ahead (rule c).
    std::function<void()> waits;
    // Whether the trainer is wanted elsewhere: it leaves the job, or a command
    // waits for it. May be empty.
    std::function<bool()> is_wanted;
  };

  // Borrows the segment, whose batches have parts.
  PartExchange(Segment* segment, OwnerIndex owner, const ModelOptions& model,
               Hooks hooks);

  // Returns the exchange of a part that this trainer trains; null if its model
  // has no hidden layer. Valid until the next call, and until Reset(). Borrows
  // the task while it is used.
  RowShuffle* Begin(const TaskView* task);
  // Forgets what became of the part before. Call it before the next part is
  // begun, since that one may fail before it is.
  void Reset();
  // Whether the trainer is wanted elsewhere.
  bool is_wanted() const {
    return hooks_.is_wanted != nullptr && hooks_.is_wanted();
  }
  // What became of the part that was begun last. If it is not kDone, the
  // shuffle has returned an error.
  PartEnd end() const { return end_; }
  // Returns the part to take, with kTakeOther.
  const BatchPart& missing() const { return missing_; }
  // Returns the bytes of rows that the part begun last has sent to other parts.
  uint64_t message_bytes() const {
    return shuffle_ == nullptr ? 0 : shuffle_->message_bytes();
  }
  // Returns the seconds of waits for other parts since the last Reset().
  double waited() const { return waited_; }

  // Returns a number that rises while the trainer waits. Any thread.
  uint64_t progress() const {
    return progress_.load(std::memory_order_relaxed);
  }

 private:
  // Waits for a message of another part of the batch.
  absl::Status Wait(BatchSeq seq, uint32_t message, uint32_t part);
  // Returns how the trainer gives its part back, after a look in which the
  // missing part was in `before` all the time.
  PartEnd Judge(std::optional<SlotState> before, const BatchPart& missing);

  GlobalQueue queue_;
  GradientBoard changes_;
  const ModelOptions model_;
  const Hooks hooks_;
  std::optional<MessageBoard> board_;  // nullopt: no hidden layer.
  PartEnd end_ = PartEnd::kDone;
  BatchPart missing_;
  double waited_ = 0;
  std::unique_ptr<BoardShuffle> shuffle_;  // Null: no part was begun.
  std::atomic<uint64_t> progress_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_PART_EXCHANGE_H_
