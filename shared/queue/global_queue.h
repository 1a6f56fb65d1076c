// The global queue (FGNN, section 5.1): samplers put tasks in, trainers take
// them out, without a call or a lock between them.
//
// A task, a part of a batch, lives in the slot and at the generation that
// JobShape::SlotOf() says. One 64-bit word per slot, `generation:48 | owner:13
// | state:3`, changed by one compare-and-swap per step:
//
//      FREE ──claim──▶ WRITING ──publish──▶ READY ──claim──▶ READING
//       ▲ ▲               │                   ▲                 │
//       │ └──abandon/reap─┘                   └──abandon/reap───┤
//       └───────────────── release: generation + 1 ─────────────┘
//
// Claiming the free slot is the lease of that task. Only a slot's owner, and
// for a dead owner the reaper, may leave WRITING and READING.
#ifndef FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_
#define FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment.h"

namespace fgnn {

enum class SlotState : uint8_t {
  kFree = 0,
  kWriting = 1,
  kReady = 2,
  kReading = 3
};

// How many slots are in each state; they sum to num_slots.
struct SlotCounts {
  uint32_t free = 0;
  uint32_t writing = 0;
  uint32_t ready = 0;
  uint32_t reading = 0;
};

class GlobalQueue;

// A claimed free slot, to be filled. Move-only. Destroyed unpublished, it
// gives the slot back, so another sampler claims the same task.
class WriteSlot {
 public:
  WriteSlot(WriteSlot&& other) noexcept;
  WriteSlot& operator=(WriteSlot&& other) noexcept;
  ~WriteSlot();

  TaskNumber task() const { return task_; }
  BatchSeq seq() const { return seq_; }  // Of the task's batch.
  // Where the task is to be written: the slot's own block at first.
  absl::Span<std::byte> block() const { return block_; }
  // For a task that does not fit: switches to the overflow block of this
  // process, waiting until it is free. A READY task in it is retracted (its
  // slot becomes FREE again) if it is later than this one, or later than a task
  // that is FREE, so that order cannot deadlock. DeadlineExceeded, the
  // slot's own block then serves on; Cancelled once the job was stopped;
  // FailedPrecondition if already switched, or if there is no overflow block.
  absl::Status SwitchToOverflow(Deadline deadline);
  // Hands the block, a finished task, to the trainers.
  absl::Status Publish() &&;

 private:
  friend class GlobalQueue;
  WriteSlot(GlobalQueue* queue, TaskNumber task, absl::Span<std::byte> block);
  void Abandon();
  GlobalQueue* queue_;  // Null once published or moved from.
  TaskNumber task_;
  BatchSeq seq_;
  absl::Span<std::byte> block_;
  bool overflow_ = false;
};

// A claimed ready slot. Move-only. Destroyed unreleased, it makes the slot
// READY again for another trainer.
class ReadSlot {
 public:
  ReadSlot(ReadSlot&& other) noexcept;
  ReadSlot& operator=(ReadSlot&& other) noexcept;
  ~ReadSlot();

  TaskNumber task() const { return task_; }
  BatchSeq seq() const { return seq_; }  // Of the task's batch.
  // The bytes of the block that the slot names, unchecked: give it to
  // ReadTask() and compare the task's seq with this one's.
  absl::Span<const std::byte> block() const { return block_; }
  // Whether that is a sampler's overflow block.
  bool in_overflow() const { return in_overflow_; }
  // Who sampled it.
  OwnerIndex sampler() const { return sampler_; }
  // The batch's result is safe elsewhere: frees the slot for the next
  // task that lives there.
  absl::Status Release() &&;
  // The block is damaged: frees the slot at the same generation, so that the
  // task is sampled again.
  absl::Status Reject() &&;

 private:
  friend class GlobalQueue;
  ReadSlot(GlobalQueue* queue, TaskNumber task,
           absl::Span<const std::byte> block, bool in_overflow,
           OwnerIndex sampler);
  void Abandon();
  GlobalQueue* queue_;
  TaskNumber task_;
  BatchSeq seq_;
  absl::Span<const std::byte> block_;
  bool in_overflow_;
  OwnerIndex sampler_;
};

// A process's view of the queue. Thread-safe: any number of threads of the
// process may claim. Borrows the segment.
class GlobalQueue {
 public:
  // `owner`: this process's index, given by the scheduler; kNoOwner for the
  // scheduler itself, which claims nothing. `overflow_block`: the one that
  // belongs to this process, if it is a sampler.
  GlobalQueue(Segment* segment, OwnerIndex owner,
              std::optional<uint32_t> overflow_block = std::nullopt);

  // Claims the lowest free task of the opened batches. nullopt at the
  // deadline, when nothing could be claimed until then. Cancelled once the
  // job was stopped. FailedPrecondition for kNoOwner.
  absl::StatusOr<std::optional<WriteSlot>> ClaimForWriting(Deadline deadline);

  // Claims the lowest ready task of the batches [first, last). As above.
  absl::StatusOr<std::optional<ReadSlot>> ClaimForReading(BatchSeq first,
                                                          BatchSeq last,
                                                          Deadline deadline);
  // The same without waiting.
  absl::StatusOr<std::optional<WriteSlot>> TryClaimForWriting();
  absl::StatusOr<std::optional<ReadSlot>> TryClaimForReading(BatchSeq first,
                                                             BatchSeq last);

  // For who looks whether to claim at all. What to pass to WaitForFree(): read
  // it before the look.
  uint32_t frees() const;
  // Waits until a slot became free since `seen`, the sampling limit moved, a
  // device's turn ended, 100 ms or the deadline passed: look again. Cancelled
  // once the job was stopped.
  absl::Status WaitForFree(uint32_t seen, Deadline deadline) const;

  SlotCounts Counts() const;

  // Scheduler only: samplers may claim every batch below `limit`. Never lowers.
  void OpenForSampling(BatchSeq limit);
  BatchSeq sampling_limit() const;

  // Scheduler only: all claims and waits return Cancelled from now on.
  void Stop();
  bool stopped() const;

  // Scheduler only, and only after the kernel has said that every process
  // with this index is dead: its WRITING slots become FREE, its READING slots
  // READY again, same generation. Idempotent. Returns the batches in them.
  std::vector<BatchSeq> ReclaimSlotsOf(OwnerIndex dead_owner);

 private:
  friend class WriteSlot;
  friend class ReadSlot;
  absl::Status CheckMayClaim() const;
  // One step of a slot that this process owns. FailedPrecondition if it does
  // not own it at this generation, in state `from`.
  absl::Status Leave(TaskNumber task, SlotState from, SlotState to,
                     uint64_t generations_on = 0);
  absl::Status TakeOverflowBlock(TaskNumber task, Deadline deadline);
  // The batch whose task it is.
  BatchSeq SeqOf(TaskNumber task) const;
  // Tell trainers that a task is ready; samplers that a slot is free.
  void AnnounceReady();
  void AnnounceFree();

  Segment* segment_;
  OwnerIndex owner_;
  std::optional<uint32_t> overflow_block_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_
