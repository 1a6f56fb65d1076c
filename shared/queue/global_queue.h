// The global queue (FGNN, section 5.2). Samplers put tasks into the queue and
// trainers take them out, without a call or a lock between them.
//
// A task is a part of a batch. JobShape::SlotOf() says in which slot and at
// which generation a task lives. Each slot has one 64-bit word,
// `generation:48 | owner:13 | state:3`. One compare-and-swap makes each step of
// the word:
//
//      FREE ──claim──▶ WRITING ──publish──▶ READY ──claim──▶ READING
//       ▲ ▲               │                   ▲                 │
//       │ └──abandon/reap─┘                   └──abandon/reap───┤
//       └───────────────── release: generation + 1 ─────────────┘
//
// A sampler that claims the free slot has the lease of that task. Only the
// slot's owner may move the slot out of WRITING or READING. If the owner is
// dead, only the reaper may.
#ifndef FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_
#define FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// Number of slots in each state. The four numbers sum to num_slots.
struct SlotCounts {
  uint32_t free = 0;
  uint32_t writing = 0;
  uint32_t ready = 0;
  uint32_t reading = 0;
};

class GlobalQueue;

// A free slot that a sampler has claimed and fills. Move-only. If destroyed
// before Publish(), it gives the slot back; another sampler then claims the
// task.
class WriteSlot {
 public:
  TaskNumber task() const { return queue_.get_deleter().task; }
  BatchSeq seq() const { return of_.seq; }  // Number of the task's batch.
  const BatchPart& batch_part() const { return of_; }  // Its batch and part.
  // The memory for the task: the slot's own block until SwitchToOverflow().
  absl::Span<std::byte> block() const { return block_; }
  // Switches to the overflow block that this process has for the task's part,
  // for a task that does not fit into the slot's own block. Waits until the
  // overflow block is free. A READY task in the block is retracted if it is
  // later than this task, or if a task of its batch or before is FREE: so the
  // order of tasks cannot deadlock. The slot of a retracted task becomes FREE
  // again. A thread that holds several parts of a batch switches them in the
  // order of the parts: so threads of one process do not wait for each other.
  // Returns DeadlineExceeded at the deadline; the slot's own block is then
  // still in use. Returns Cancelled once the job was stopped. Returns
  // FailedPrecondition if the slot was switched already, or if this process has
  // no overflow block.
  absl::Status SwitchToOverflow(Deadline deadline);
  // Hands the block, which holds a finished task, to the trainers.
  absl::Status Publish() &&;

 private:
  friend class GlobalQueue;
  WriteSlot(GlobalQueue* queue, TaskNumber task, absl::Span<std::byte> block);
  // Gives the slot back.
  struct Abandon {
    void operator()(GlobalQueue* queue) const;
    TaskNumber task;
  };

  // Null once published or moved from.
  std::unique_ptr<GlobalQueue, Abandon> queue_;
  BatchPart of_;
  absl::Span<std::byte> block_;
  bool overflow_ = false;
};

// A READY slot that a trainer has claimed. Move-only. If destroyed before
// Release(), it makes the slot READY again for another trainer.
class ReadSlot {
 public:
  TaskNumber task() const { return queue_.get_deleter().task; }
  BatchSeq seq() const { return of_.seq; }  // Number of the task's batch.
  const BatchPart& batch_part() const { return of_; }  // Its batch and part.
  // The bytes of the block that the slot names, not checked. The caller gives
  // them to ReadTask() and compares the task's batch and part with
  // batch_part().
  absl::Span<const std::byte> block() const { return block_; }
  // Whether the block is the overflow block of a sampler.
  bool in_overflow() const { return in_overflow_; }
  // Owner index of the sampler that made the task.
  OwnerIndex sampler() const { return sampler_; }
  // Frees the slot for the next task that lives in it. The caller calls this
  // once the result of the batch is safe elsewhere.
  absl::Status Release() &&;
  // Frees the slot at the same generation, so that a sampler makes the task
  // again. The caller calls this if the block is damaged.
  absl::Status Reject() &&;

 private:
  friend class GlobalQueue;
  ReadSlot(GlobalQueue* queue, TaskNumber task,
           absl::Span<const std::byte> block, bool in_overflow,
           OwnerIndex sampler);
  // Makes the slot READY again.
  struct Abandon {
    void operator()(GlobalQueue* queue) const;
    TaskNumber task;
  };

  // Null once released, rejected or moved from.
  std::unique_ptr<GlobalQueue, Abandon> queue_;
  BatchPart of_;
  absl::Span<const std::byte> block_;
  bool in_overflow_;
  OwnerIndex sampler_;
};

// A process's view of the queue. Thread-safe: any number of threads of the
// process may claim. Borrows the segment.
class GlobalQueue {
 public:
  // `owner`: index of this process, which the scheduler assigned; kNoOwner for
  // the scheduler itself, which claims nothing. `overflow_block`: index of the
  // first of the P consecutive blocks that belong to this process, one for each
  // part of a batch, if the process is a sampler.
  GlobalQueue(Segment* segment, OwnerIndex owner,
              std::optional<uint32_t> overflow_block = std::nullopt);

  // Claims the lowest free task of the opened batches. Returns nullopt if no
  // task could be claimed until the deadline. Returns Cancelled once the job
  // was stopped, and FailedPrecondition if the owner is kNoOwner.
  absl::StatusOr<std::optional<WriteSlot>> ClaimForWriting(Deadline deadline);

  // Claims the lowest free task of the opened batches, and the other parts of
  // its batch that are FREE too. Tries each of them once and waits for none. So
  // a sampler draws the batch once for all of these parts. The parts are in
  // their order. The caller publishes them in that order: if it dies in
  // between, the sampler that follows claims only the parts that are left.
  // Returns no slots and errors as ClaimForWriting() returns nullopt and
  // errors. With one part, it claims the same as ClaimForWriting().
  absl::StatusOr<std::vector<WriteSlot>> ClaimBatchForWriting(
      Deadline deadline);

  // Claims the lowest ready task of the batches [first, last). A batch with a
  // part that is FREE or WRITING has no such task: its trainers would wait for
  // that part. Returns nullopt and errors as ClaimForWriting().
  absl::StatusOr<std::optional<ReadSlot>> ClaimForReading(BatchSeq first,
                                                          BatchSeq last,
                                                          Deadline deadline);
  // Make the same claims without waiting.
  // `home_part`: claims only tasks of that part, as a trainer does first for
  // the part that its cache is for.
  absl::StatusOr<std::optional<WriteSlot>> TryClaimForWriting();
  absl::StatusOr<std::vector<WriteSlot>> TryClaimBatchForWriting();
  absl::StatusOr<std::optional<ReadSlot>> TryClaimForReading(
      BatchSeq first, BatchSeq last,
      std::optional<uint32_t> home_part = std::nullopt);

  // Claims exactly this task if it is READY. Does not look at the other parts
  // of the batch, which is under way: a trainer of another part waits for this
  // one. The batch is local. Returns nullopt and errors as
  // TryClaimForReading().
  absl::StatusOr<std::optional<ReadSlot>> TryClaimPart(const BatchPart& task);
  // Returns the state of the task's slot; nullopt: the task is released, and
  // the slot is that of a later task. FREE also while the slot is still that of
  // an earlier task. The batch is local.
  std::optional<SlotState> StateOf(const BatchPart& task) const;

  // The number to pass to WaitForFree(). A sampler that looks whether to claim
  // at all reads it before it looks.
  uint32_t frees() const;
  // Waits until one of these: a slot became free since `seen`, the sampling
  // limit moved, a device's slice ended, or 100 ms or the deadline passed. The
  // caller then looks again. Returns Cancelled once the job was stopped.
  absl::Status WaitForFree(uint32_t seen, Deadline deadline) const;

  SlotCounts Counts() const;

  // Scheduler only: samplers may claim every batch below `limit` from now on.
  // Never lowers the limit.
  void OpenForSampling(BatchSeq limit);
  BatchSeq sampling_limit() const;

  // Scheduler only: all claims and waits return Cancelled from now on.
  void Stop();
  bool stopped() const;

  // Scheduler only, and only after the kernel has said that every process with
  // this index is dead. Makes the owner's WRITING slots FREE and its READING
  // slots READY, at the same generation. Idempotent. Returns the tasks of
  // these slots.
  std::vector<BatchPart> ReclaimSlotsOf(OwnerIndex dead_owner);

 private:
  friend class WriteSlot;
  friend class ReadSlot;
  absl::Status CheckMayClaim() const;
  // Makes one step of a slot that this process owns. Returns FailedPrecondition
  // if this process does not own the slot at this generation, in state `from`.
  absl::Status Leave(TaskNumber task, SlotState from, SlotState to,
                     uint64_t generations_on = 0);
  // Claim the task if it is FREE, and READY. Return nullopt if it is not.
  std::optional<WriteSlot> TakeToWrite(TaskNumber task);
  std::optional<ReadSlot> TakeToRead(TaskNumber task);
  // Returns the block once the task has it.
  absl::StatusOr<absl::Span<std::byte>> TakeOverflowBlock(TaskNumber task,
                                                          Deadline deadline);
  // Tell the trainers that a task is ready, and the samplers that a slot is
  // free.
  void AnnounceReady();
  void AnnounceFree();

  Segment* segment_;
  OwnerIndex owner_;
  std::optional<uint32_t> overflow_block_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_GLOBAL_QUEUE_H_
