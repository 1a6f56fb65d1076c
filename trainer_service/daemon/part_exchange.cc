#include "trainer_service/daemon/part_exchange.h"

#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// The error of an exchange whose part is given back. No user sees it.
absl::Status GivenBack() {
  return absl::CancelledError("the part is given back");
}

}  // namespace

PartExchange::PartExchange(Segment* segment, OwnerIndex owner,
                           const ModelOptions& model, Hooks hooks)
    : queue_(segment, owner),
      changes_(segment, owner),
      model_(model),
      hooks_(std::move(hooks)) {
  if (segment->options().num_messages > 0) board_.emplace(segment);
}

void PartExchange::Reset() {
  end_ = PartEnd::kDone;
  waited_ = 0;
  shuffle_.reset();
}

RowShuffle* PartExchange::Begin(const TaskView* task) {
  if (!board_.has_value()) return nullptr;
  shuffle_ = std::make_unique<BoardShuffle>(
      task, model_, &*board_,
      [this, seq = task->seq](uint32_t message, uint32_t part) {
        const Stopwatch watch;
        const absl::Status status = Wait(seq, message, part);
        waited_ += watch.Seconds();
        return status;
      });
  return shuffle_.get();
}

absl::Status PartExchange::Wait(BatchSeq seq, uint32_t message, uint32_t part) {
  const BatchPart missing = {seq, part};
  std::optional<SlotState> before = queue_.StateOf(missing);
  Deadline look = DeadlineIn(kTick);
  while (true) {
    const uint32_t seen = changes_.changes();
    if (board_->IsThere(seq, message, part)) return absl::OkStatus();
    progress_.fetch_add(1, std::memory_order_relaxed);
    FGNN_RETURN_IF_ERROR(changes_.WaitForChange(seen, look));
    const std::optional<SlotState> now = queue_.StateOf(missing);
    if (now != before) {
      before = now;
      look = DeadlineIn(kTick);
    }
    if (MonotonicClock::now() < look) continue;
    look = DeadlineIn(kTick);
    if (board_->IsThere(seq, message, part)) return absl::OkStatus();
    hooks_.waits();
    end_ = Judge(before, missing);
    if (end_ != PartEnd::kDone) return GivenBack();
  }
}

PartEnd PartExchange::Judge(std::optional<SlotState> before,
                            const BatchPart& missing) {
  if (is_wanted()) return PartEnd::kLeave;
  if (before == SlotState::kReady) {
    missing_ = missing;
    return PartEnd::kTakeOther;
  }
  return before == SlotState::kFree ? PartEnd::kEndTurn : PartEnd::kDone;
}

}  // namespace fgnn
