// WriteSlot and ReadSlot: a claimed slot, and every way to end the claim.
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

absl::Status GoneError(BatchSeq seq) {
  return absl::FailedPreconditionError(
      absl::StrCat("slot of batch ", seq.value(), " was given away already"));
}

}  // namespace

WriteSlot::WriteSlot(GlobalQueue* queue, TaskNumber task,
                     absl::Span<std::byte> block)
    : queue_(queue, {task}),
      of_(queue->segment_->shape().TaskOf(task)),
      block_(block) {}

void WriteSlot::Abandon::operator()(GlobalQueue* queue) const {
  // Leave() fails only if this process was declared dead. Then there is nothing
  // to give back.
  if (queue->Leave(task, SlotState::kWriting, SlotState::kFree).ok()) {
    queue->AnnounceFree();
  }
}

absl::Status WriteSlot::SwitchToOverflow(Deadline deadline) {
  if (queue_ == nullptr) return GoneError(of_.seq);
  if (overflow_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task of batch ", of_.seq.value(),
        " exceeds even its overflow block of ", block_.size(), " bytes"));
  }
  FGNN_ASSIGN_OR_RETURN(block_, queue_->TakeOverflowBlock(task(), deadline));
  overflow_ = true;
  return absl::OkStatus();
}

absl::Status WriteSlot::Publish() && {
  if (queue_ == nullptr) return GoneError(of_.seq);
  GlobalQueue* const queue = queue_.release();
  FGNN_RETURN_IF_ERROR(
      queue->Leave(task(), SlotState::kWriting, SlotState::kReady));
  queue->AnnounceReady();
  // Another thread of this process may wait until it can retract this task.
  if (overflow_) queue->AnnounceFree();
  return absl::OkStatus();
}

ReadSlot::ReadSlot(GlobalQueue* queue, TaskNumber task,
                   absl::Span<const std::byte> block, bool in_overflow,
                   OwnerIndex sampler)
    : queue_(queue, {task}),
      of_(queue->segment_->shape().TaskOf(task)),
      block_(block),
      in_overflow_(in_overflow),
      sampler_(sampler) {}

void ReadSlot::Abandon::operator()(GlobalQueue* queue) const {
  if (queue->Leave(task, SlotState::kReading, SlotState::kReady).ok()) {
    queue->AnnounceReady();
  }
}

absl::Status ReadSlot::Release() && {
  if (queue_ == nullptr) return GoneError(of_.seq);
  GlobalQueue* const queue = queue_.release();
  FGNN_RETURN_IF_ERROR(queue->Leave(task(), SlotState::kReading,
                                    SlotState::kFree,
                                    /*generations_on=*/1));
  queue->AnnounceFree();
  return absl::OkStatus();
}

absl::Status ReadSlot::Reject() && {
  if (queue_ == nullptr) return GoneError(of_.seq);
  GlobalQueue* const queue = queue_.release();
  FGNN_RETURN_IF_ERROR(
      queue->Leave(task(), SlotState::kReading, SlotState::kFree));
  queue->AnnounceFree();
  return absl::OkStatus();
}

}  // namespace fgnn
