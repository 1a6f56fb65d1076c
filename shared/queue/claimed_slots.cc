// WriteSlot and ReadSlot: a claimed slot, and every way to end the claim.
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

absl::Status GoneError(BatchSeq seq) {
  return absl::FailedPreconditionError(
      absl::StrCat("slot of batch ", seq, " was given away already"));
}

}  // namespace

WriteSlot::WriteSlot(GlobalQueue* queue, TaskNumber task,
                     absl::Span<std::byte> block)
    : queue_(queue), task_(task), seq_(queue->SeqOf(task)), block_(block) {}

WriteSlot::WriteSlot(WriteSlot&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)),
      task_(other.task_),
      seq_(other.seq_),
      block_(other.block_),
      overflow_(other.overflow_) {}

WriteSlot& WriteSlot::operator=(WriteSlot&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  queue_ = std::exchange(other.queue_, nullptr);
  task_ = other.task_;
  seq_ = other.seq_;
  block_ = other.block_;
  overflow_ = other.overflow_;
  return *this;
}

WriteSlot::~WriteSlot() { Abandon(); }

void WriteSlot::Abandon() {
  if (queue_ == nullptr) return;
  GlobalQueue* queue = std::exchange(queue_, nullptr);
  // Leave() fails only if this process was declared dead. Then there is nothing
  // to give back.
  if (queue->Leave(task_, SlotState::kWriting, SlotState::kFree).ok()) {
    queue->AnnounceFree();
  }
}

absl::Status WriteSlot::SwitchToOverflow(Deadline deadline) {
  if (queue_ == nullptr) return GoneError(seq_);
  if (overflow_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task of batch ", seq_, " exceeds even its overflow block of ",
        block_.size(), " bytes"));
  }
  FGNN_RETURN_IF_ERROR(queue_->TakeOverflowBlock(task_, deadline));
  overflow_ = true;
  block_ = queue_->segment_->regions().overflow_block(*queue_->overflow_block_);
  return absl::OkStatus();
}

absl::Status WriteSlot::Publish() && {
  if (queue_ == nullptr) return GoneError(seq_);
  GlobalQueue* queue = std::exchange(queue_, nullptr);
  FGNN_RETURN_IF_ERROR(
      queue->Leave(task_, SlotState::kWriting, SlotState::kReady));
  queue->AnnounceReady();
  // Another thread of this process may wait until it can retract this task.
  if (overflow_) queue->AnnounceFree();
  return absl::OkStatus();
}

ReadSlot::ReadSlot(GlobalQueue* queue, TaskNumber task,
                   absl::Span<const std::byte> block, bool in_overflow,
                   OwnerIndex sampler)
    : queue_(queue),
      task_(task),
      seq_(queue->SeqOf(task)),
      block_(block),
      in_overflow_(in_overflow),
      sampler_(sampler) {}

ReadSlot::ReadSlot(ReadSlot&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)),
      task_(other.task_),
      seq_(other.seq_),
      block_(other.block_),
      in_overflow_(other.in_overflow_),
      sampler_(other.sampler_) {}

ReadSlot& ReadSlot::operator=(ReadSlot&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  queue_ = std::exchange(other.queue_, nullptr);
  task_ = other.task_;
  seq_ = other.seq_;
  block_ = other.block_;
  in_overflow_ = other.in_overflow_;
  sampler_ = other.sampler_;
  return *this;
}

ReadSlot::~ReadSlot() { Abandon(); }

void ReadSlot::Abandon() {
  if (queue_ == nullptr) return;
  GlobalQueue* queue = std::exchange(queue_, nullptr);
  if (queue->Leave(task_, SlotState::kReading, SlotState::kReady).ok()) {
    queue->AnnounceReady();
  }
}

absl::Status ReadSlot::Release() && {
  if (queue_ == nullptr) return GoneError(seq_);
  GlobalQueue* queue = std::exchange(queue_, nullptr);
  FGNN_RETURN_IF_ERROR(queue->Leave(task_, SlotState::kReading,
                                    SlotState::kFree,
                                    /*generations_on=*/1));
  queue->AnnounceFree();
  return absl::OkStatus();
}

absl::Status ReadSlot::Reject() && {
  if (queue_ == nullptr) return GoneError(seq_);
  GlobalQueue* queue = std::exchange(queue_, nullptr);
  FGNN_RETURN_IF_ERROR(
      queue->Leave(task_, SlotState::kReading, SlotState::kFree));
  queue->AnnounceFree();
  return absl::OkStatus();
}

}  // namespace fgnn
