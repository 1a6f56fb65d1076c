// The overflow blocks: one per sampler for each part of a batch, so that all
// parts of a large batch find room. A block has the size of a task's hard
// bound. It holds the rare task that is too large for its slot's block.
//
// A word per block, `tag:16 | task + 1:48`, names the task that lies in the
// block (0: none). Every change of the word also changes the tag, so that no
// change is mistaken for an earlier one. The word alone does not make a block
// used. The task's slot must also be at that task, be taken or READY, and point
// back at the block. So a process may be killed between the steps of taking or
// freeing a block: the next user can still tell that the block is free. For the
// files of this folder.
#ifndef FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
#define FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "shared/queue/job_shape.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {

class SlotTable;

// Thread-safe. Borrows the slot table and the segment.
class OverflowBlocks {
 public:
  // A block that holds a task, and the block's word when HoldOf() read it.
  struct Hold {
    uint32_t block;
    uint64_t word;
  };
  struct Attempt {
    bool taken = false;
    // Whether a slot became FREE meanwhile, which the caller announces.
    bool retracted = false;
  };

  OverflowBlocks(const SlotTable& slots, const Segment& segment)
      : slots_(slots), segment_(segment), regions_(segment.regions()) {}

  // Returns the overflow block that holds the task; nullopt: none does.
  std::optional<Hold> HoldOf(TaskNumber task) const;

  // Takes `block` for `task`. The caller owns the task's WRITING slot and has
  // pointed the slot at the block already (SlotTable::StorePlace). A READY task
  // in the block is retracted if it is later than `task`, or if a task of its
  // batch or before is FREE. The reason: trainers may wait for that FREE task,
  // and the sampler that waits for the block is the one that should make it. In
  // particular, they take no part of a batch with a FREE part. Where batches
  // have parts, a task counts as FREE also while another thread of this sampler
  // waits for a block for it, which may be a block that this thread holds. Does
  // not take the block while another READY task, or a task that is being
  // written or read, lies in it. block < num_overflow_blocks.
  Attempt TryTake(uint32_t block, TaskNumber task) const;

  // Frees the block unless its word has changed since HoldOf() read it.
  void Free(Hold hold) const;

 private:
  // Whether `holder` keeps `task` out of the block. Returns false also if this
  // call retracted the holder, which was READY; sets `retracted` then.
  bool IsUsedAgainst(uint32_t block, TaskNumber holder, TaskNumber task,
                     bool* retracted) const;
  // Whether a task of the holder's batch, or before, waits to be sampled, or
  // waits for a block of the sampler that owns `task`.
  bool IsMissingUpTo(TaskNumber holder, TaskNumber task) const;
  // Whether the WRITING task's slot points at a block that is not the task's.
  bool WaitsForBlock(TaskNumber task) const;

  const SlotTable& slots_;
  const Segment& segment_;
  const Segment::Regions& regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
